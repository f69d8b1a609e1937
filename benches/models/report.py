"""The table, the plot and the means of what was measured."""
import math

RATIOS = dict(run=('us', 'xla_us'), compile=('compile_ms', 'xla_compile_ms'), peak=('peak_bytes', 'xla_peak_bytes'), kernels=('kernels', 'xla_kernels'))


def ratio(row, what):
    ours, theirs = (row.get(name) for name in RATIOS[what])
    return ours / theirs if ours is not None and theirs else None


def mean(rows, what):
    found = [r for r in (ratio(row, what) for row in rows) if r]
    return math.exp(sum(map(math.log, found)) / len(found)) if found else None


def shown(number):
    return '' if number is None else f'{number:.2f}'


def summary(rows):
    rows = list(rows)
    parts = [f'{what} {mean(rows, what):.3f}, at most {max(r for r in (ratio(row, what) for row in rows) if r):.2f}' for what in RATIOS if mean(rows, what)]
    return f'MODELS {len(rows)} programs, {sum(bool(row.get("right")) for row in rows)} right; geometric means over XLA:CPU: ' + '; '.join(parts)


def table(rows):
    lines = ['| program | difference | allowed | why | XLA, ms | here, ms | run | compile | peak | kernels |', '| --- | ---: | ---: | --- | ---: | ---: | ---: | ---: | ---: | ---: |']
    rows = sorted((row for row in rows if 'us' in row), key=lambda row: row['family'])
    for row in rows:
        lines.append(f'| {row["name"]} | {row["difference"]:.0e} | {row["tolerance"]:.0e} | {row["why"]} | {row["xla_us"] / 1e3:.2f} | {row["us"] / 1e3:.2f} | '
                     + ' | '.join(shown(ratio(row, what)) for what in RATIOS) + ' |')
    lines.append(f'| geometric mean of {len(rows)} | | | | | | ' + ' | '.join(f'**{shown(mean(rows, what))}**' for what in RATIOS) + ' |')
    return '\n'.join(lines) + '\n'


def plot(rows, path):
    """Run time and compile time over XLA's, a pair of bars per program, sorted, with a line where both are equal."""
    import matplotlib
    matplotlib.use('svg')
    import matplotlib.pyplot as pyplot
    pyplot.rcParams.update({'svg.fonttype': 'none', 'svg.hashsalt': 'fusebox'})
    rows = sorted((row for row in rows if 'us' in row), key=lambda row: ratio(row, 'run'))
    figure, axes = pyplot.subplots(figsize=(9, .22 * len(rows) + 1))
    for offset, what in ((-.2, 'run'), (.2, 'compile')):
        axes.barh([k - offset for k in range(len(rows))], [ratio(row, what) for row in rows], .38, label=f'{what} time')
    axes.axvline(1, color='black', linewidth=.8)
    axes.set_xscale('log')
    axes.set_yticks(range(len(rows)), [row['name'] for row in rows], fontsize=7)
    axes.set_xlabel('fusebox over XLA:CPU (left of the line: fusebox is faster)')
    axes.legend()
    figure.tight_layout()
    figure.savefig(path, metadata=dict(Date=None))
