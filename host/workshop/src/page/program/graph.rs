//! Draws a computation as boxes in layers. The box of an operand is above the boxes of its users.

use std::fmt::Write;

use fusebox_core::hlo::{Computation, Instruction, Op};
use maud::{Markup, html};
use rust_sugiyama::configure::{Config, RankingType};
use rust_sugiyama::from_vertices_and_edges;

use crate::roof::Bound;

/// Sizes in pixels: width of a letter, height of a line, padding around the text of a box, gap
/// between boxes.
const LETTER: f64 = 6.6;
const LINE: f64 = 15.0;
const PADDING: f64 = 10.0;
const GAP: f64 = 34.0;
/// Largest number of letters in a line of a box. Longer lines are cut off.
const MOST_LETTERS: usize = 34;
/// Largest number of boxes in a drawing. Larger drawings take long to compute and are illegible.
const MOST_NODES: usize = 600;

/// A box of the drawing.
pub struct Node {
    /// Lines of text in the box. The first line is the name.
    pub lines: Vec<String>,
    pub kind: NodeKind,
    /// Anchor in the page to which the box links.
    pub link: Option<String>,
}

/// The kind of step that a box represents.
pub enum NodeKind {
    Kernel(Bound),
    Other,
}

impl Node {
    fn width(&self) -> f64 {
        let letters = self.lines.iter().map(|line| cut(line).chars().count()).max().unwrap_or(0);
        letters as f64 * LETTER + 2.0 * PADDING
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE + PADDING
    }

    fn class(&self) -> &'static str {
        match self.kind {
            NodeKind::Kernel(bound) => bound.name(),
            NodeKind::Other => "other",
        }
    }
}

/// A box and its centre.
struct PlacedNode {
    node: Node,
    x: f64,
    y: f64,
}

/// Draws one box per instruction, without constants, tuples and tuple elements. If an instruction
/// reads a value through a tuple, an edge leads directly from the value's box to the box of the
/// instruction.
pub fn draw(computation: &Computation, node: impl Fn(&Instruction) -> Node) -> Markup {
    let shown: Vec<usize> =
        (0..computation.instructions.len()).filter(|&at| is_shown(&computation.instructions[at])).collect();
    if shown.len() > MOST_NODES {
        return html! { p { (shown.len()) " steps are too many for a drawing; the table has its kernels." } };
    }
    let nodes: Vec<Node> = shown.iter().map(|&at| node(&computation.instructions[at])).collect();
    let number = |at: usize| shown.iter().position(|&known| known == at).map(|number| number as u32);
    let mut edges: Vec<(u32, u32)> = Vec::new();
    for (to, &at) in shown.iter().enumerate() {
        let from = sources(computation, at);
        edges.extend(from.into_iter().filter_map(|from| Some((number(from)?, to as u32))));
    }
    edges.sort_unstable();
    edges.dedup();
    svg(&placed(nodes, &edges), &edges)
}

fn is_shown(instruction: &Instruction) -> bool {
    !matches!(instruction.op, Op::Constant(_) | Op::GetTupleElement { .. } | Op::Tuple)
}

/// Returns the instructions that an instruction reads, directly or through instructions without
/// boxes. Returns only instructions with boxes.
fn sources(computation: &Computation, at: usize) -> Vec<usize> {
    let mut found = Vec::new();
    let mut open: Vec<usize> = computation.instructions[at].operands.iter().map(|it| it.index()).collect();
    let mut seen = vec![false; computation.instructions.len()];
    while let Some(next) = open.pop() {
        if std::mem::replace(&mut seen[next], true) {
            continue;
        }
        if is_shown(&computation.instructions[next]) {
            found.push(next)
        } else {
            open.extend(computation.instructions[next].operands.iter().map(|it| it.index()))
        }
    }
    found
}

/// Computes the positions of the boxes, in layers. If the graph has several parts without edges
/// between them, the parts are next to each other.
fn placed(nodes: Vec<Node>, edges: &[(u32, u32)]) -> Vec<PlacedNode> {
    let sizes: Vec<(u32, (f64, f64))> = (0..).zip(nodes.iter().map(|node| (node.width(), node.height()))).collect();
    let config = Config { vertex_spacing: GAP, ranking_type: RankingType::Up, dummy_size: 4.0, ..Config::default() };
    let mut places = vec![(0.0, 0.0); nodes.len()];
    let mut left = 0.0;
    for (layout, _, _) in from_vertices_and_edges(&sizes, edges, &config) {
        let ends = |id: usize, x: f64| (x - nodes[id].width() / 2.0, x + nodes[id].width() / 2.0);
        let start = layout.iter().map(|&(id, (x, _))| ends(id, x).0).fold(f64::INFINITY, f64::min);
        let end = layout.iter().map(|&(id, (x, _))| ends(id, x).1).fold(f64::NEG_INFINITY, f64::max);
        for &(id, (x, y)) in &layout {
            places[id] = (left + x - start, y);
        }
        left += end - start + GAP;
    }
    let top =
        places.iter().zip(&nodes).map(|((_, y), node)| y.abs() - node.height() / 2.0).fold(f64::INFINITY, f64::min);
    let place = |(node, (x, y)): (Node, (f64, f64))| PlacedNode { node, x: x + GAP, y: y.abs() - top + GAP };
    nodes.into_iter().zip(places).map(place).collect()
}

fn svg(placed: &[PlacedNode], edges: &[(u32, u32)]) -> Markup {
    let right = placed.iter().map(|it| it.x + it.node.width() / 2.0).fold(0.0, f64::max) + GAP;
    let bottom = placed.iter().map(|it| it.y + it.node.height() / 2.0).fold(0.0, f64::max) + GAP;
    html! {
        div.wide { svg width=(format!("{right:.0}")) height=(format!("{bottom:.0}")) role="img" {
            path.edges d=(lines(placed, edges)) {}
            @for it in placed {
                @match &it.node.link {
                    Some(link) => a href={ "#" (link) } { (rectangle(it)) },
                    None => (rectangle(it)),
                }
            }
        } }
    }
}

/// Returns the SVG path of all edges. Each edge leads from the lower side of one box to the upper
/// side of another box.
fn lines(placed: &[PlacedNode], edges: &[(u32, u32)]) -> String {
    let mut path = String::new();
    for &(from, to) in edges {
        let (from, to) = (&placed[from as usize], &placed[to as usize]);
        let (start, end) = (from.y + from.node.height() / 2.0, to.y - to.node.height() / 2.0);
        let middle = f64::midpoint(start, end);
        let _ = write!(
            path,
            "M{:.1} {start:.1}C{:.1} {middle:.1} {:.1} {middle:.1} {:.1} {end:.1}",
            from.x, from.x, to.x, to.x
        );
    }
    path
}

fn rectangle(it: &PlacedNode) -> Markup {
    let (width, height) = (it.node.width(), it.node.height());
    let (left, top) = (it.x - width / 2.0, it.y - height / 2.0);
    html! {
        g class=(it.node.class()) {
            title { (it.node.lines.join("\n")) }
            rect x=(format!("{left:.1}")) y=(format!("{top:.1}")) width=(format!("{width:.1}"))
                height=(format!("{height:.1}")) rx="5" {}
            @for (number, line) in it.node.lines.iter().enumerate() {
                text class=(if number == 0 { "name" } else { "more" }) x=(format!("{:.1}", it.x))
                    y=(format!("{:.1}", top + LINE * (number as f64 + 1.0))) { (cut(line)) }
            }
        }
    }
}

fn cut(line: &str) -> String {
    if line.chars().count() > MOST_LETTERS {
        line.chars().take(MOST_LETTERS - 1).chain(['…']).collect()
    } else {
        line.to_owned()
    }
}
