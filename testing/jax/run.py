#!/usr/bin/env python3
"""Runs JAX's own tests on fusebox, and compares the failures with a list of known ones.

    run.py --tests JAX/tests                      the files of the fast part
    run.py --tests JAX/tests --part all           all files but those for several devices: more than an hour
    run.py --tests JAX/tests --part devices       the files for several devices
    run.py --tests JAX/tests --files lax_test,nn_test

JAX/tests is the folder of JAX's repository at the tag jax-v0.10.2. The tests need the packages absl-py, cloudpickle,
hypothesis, mpmath, portpicker and pytest, and fusebox-jax with FUSEBOX_PJRT_LIBRARY. JAX_NUM_GENERATED_CASES says how many
cases of each parametrised test run (default here: 1). A test of the list that passes is an error as well as a test outside of
the list that fails, so that the list stays true.
"""
import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as xml

HERE = os.path.dirname(os.path.abspath(__file__))
FAST = ['nn_test', 'fft_test', 'image_test', 'ann_test', 'lax_vmap_test', 'linalg_test', 'lax_numpy_vectorize_test', 'random_test']
ALL = FAST + [
    'lax_test', 'lax_control_flow_test', 'lax_numpy_test', 'lax_numpy_operators_test', 'lax_numpy_reducers_test', 'lax_numpy_indexing_test',
    'lax_numpy_einsum_test', 'lax_numpy_ufuncs_test', 'lax_numpy_setops_test', 'lax_numpy_hijax_test', 'lax_autodiff_test', 'lax_vmap_op_test', 'lax_scipy_test',
    'lax_scipy_special_functions_test', 'lax_scipy_sparse_test', 'scipy_stats_test', 'scipy_signal_test', 'scipy_ndimage_test',
    'scipy_spatial_test', 'scipy_interpolate_test', 'scipy_optimize_test', 'scipy_fft_test', 'random_lax_test', 'qdwh_test', 'svd_test',
    'eigh_test', 'sparse_test', 'sparse_bcoo_bcsr_test', 'sparsify_test', 'api_test', 'array_test', 'batching_test', 'dtypes_test',
    'core_test', 'debug_nans_test', 'checkify_test', 'python_callback_test', 'debugging_primitives_test', 'export_test',
    'export_back_compat_test', 'jet_test', 'ode_test', 'custom_linear_solve_test', 'optimizers_test', 'stax_test', 'mutable_array_test',
    'scaled_dot_test', 'x64_context_test', 'ffi_test']
DEVICES = ['pmap_test', 'shard_map_test', 'pjit_test', 'memories_test', 'layout_test']
# Files with tests of one device and of several. They run with eight devices, too.
SOME_DEVICES = ['array_test', 'export_test']
# Files whose tests hold or call programs that were exported for the platform cpu, so fusebox has this name.
AS_CPU = ['export_test', 'export_back_compat_test']
PARTS = {'fast': FAST, 'all': ALL, 'devices': DEVICES}


def results(path):
    """The outcome of each test in a file of pytest: passed, failed or skipped."""
    found = {}
    for case in xml.parse(path).getroot().iter('testcase'):
        kinds = {child.tag for child in case}
        name = f'{case.get("classname", "").split(".")[-1]}::{case.get("name")}'
        found[name] = 'failed' if kinds & {'failure', 'error'} else 'skipped' if 'skipped' in kinds else 'passed'
    return found


def tested(file, folder, seconds):
    """Runs a file in a process. Returns the outcomes, or what ended the process."""
    report = os.path.join(folder, f'{file}.xml')
    words = [sys.executable, '-X', 'faulthandler', '-m', 'pytest', '-q', '-s', '-p', 'no:cacheprovider', '-p', 'on_fusebox', '--import-mode=importlib',
             f'--junitxml={report}', f'tests/{file}.py']
    environment = dict(os.environ, JAX_PLATFORMS='fusebox,cpu', PYTHONDONTWRITEBYTECODE='1')
    environment.setdefault('JAX_NUM_GENERATED_CASES', '1')
    if file in DEVICES + SOME_DEVICES:
        environment['FUSEBOX_NUM_DEVICES'] = '8'
    if file in AS_CPU:
        environment['FUSEBOX_PLATFORM_NAME'] = 'cpu'
    if file == 'export_back_compat_test':
        environment['JAX_ENABLE_X64'] = '1'
    environment['PYTHONPATH'] = os.pathsep.join([HERE, *filter(None, [os.environ.get('PYTHONPATH')])])
    try:
        ended = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, errors='replace', timeout=seconds)
    except subprocess.TimeoutExpired:
        return f'not done in {seconds} s'
    if not os.path.exists(report):
        return f'exit code {ended.returncode}: {(ended.stderr or ended.stdout).strip()[-300:]}'
    return results(report)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--tests', required=True, help='the folder `tests` of JAX')
    parser.add_argument('--part', choices=PARTS, default='fast')
    parser.add_argument('--files', help='names of files without .py, separated by commas')
    parser.add_argument('--seconds', type=float, default=1800, help='limit for a file')
    options = parser.parse_args()
    files = options.files.split(',') if options.files else PARTS[options.part]
    with open(os.path.join(HERE, 'known_failures.json')) as file:
        known = json.load(file)
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        # Beside the folder `jax` of the repository, Python would import it instead of the installed package.
        shutil.copytree(options.tests, os.path.join(folder, 'tests'))
        for name in ('conftest.py', 'pyproject.toml'):
            beside = os.path.join(os.path.dirname(os.path.abspath(options.tests)), name)
            if os.path.exists(beside):
                shutil.copy(beside, folder)
        for file in files:
            begin = time.monotonic()
            outcomes = tested(file, folder, options.seconds)
            seconds = time.monotonic() - begin
            if isinstance(outcomes, str):
                wrong += 1
                print(f'{file:36} {outcomes}', flush=True)
                continue
            expected = known.get(file, {})
            counts = {kind: sum(it == kind for it in outcomes.values()) for kind in ('passed', 'failed', 'skipped')}
            new = [test for test, outcome in outcomes.items() if outcome == 'failed' and test not in expected]
            mended = [test for test, outcome in outcomes.items() if outcome == 'passed' and test in expected]
            print(f'{file:36} {counts["passed"]} passed, {counts["failed"]} failed, {counts["skipped"]} skipped, {seconds:.0f} s', flush=True)
            new and print('    fail, but are not listed:', *new, sep='\n        ')
            mended and print('    are listed, but pass:', *mended, sep='\n        ')
            wrong += len(new) + len(mended)
    print(f'JAX {wrong} differences from the list')
    sys.exit(bool(wrong))


if __name__ == '__main__':
    main()
