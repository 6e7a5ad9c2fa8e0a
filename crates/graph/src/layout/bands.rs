//! The heights of ranks, and of the gaps between them.

use super::geometry::{Rect, Size};
use super::ports::Ports;
use super::{Chain, Layers, Problem, Spot};

/// Height of the gap between two ranks: at least, per pixel of sidestep, at most.
const GAP_MIN: f64 = 24.0;
const GAP_SLOPE: f64 = 0.08;
const GAP_MAX: f64 = 64.0;
/// How far below the top of its rank a box may stand.
const SEAT_MAX: f64 = 24.0;

/// The vertical extent of a rank.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Band {
    pub(crate) top: f64,
    pub(crate) bottom: f64,
}

impl Band {
    pub(crate) fn middle(self) -> f64 {
        (self.top + self.bottom) / 2.0
    }

    /// The middle of the rank, but not far from its top: a small box beside a very tall one
    /// stays near the line that leads to it.
    pub(crate) fn seat(self, x: f64, size: Size) -> Rect {
        let slack = self.bottom - self.top - size.height;
        let y = self.top + (slack / 2.0).min(SEAT_MAX);
        Rect { x: x - size.width / 2.0, y, width: size.width, height: size.height }
    }
}

/// The ranks on top of one another. Ranks without box or label take no room.
pub(crate) struct Stack {
    heights: Vec<f64>,
}

impl Stack {
    pub(crate) fn new(problem: &Problem, layers: &Layers) -> Self {
        let spots = layers.nodes.iter().chain(layers.chains.iter().flat_map(|chain| &chain.spots));
        let ranks = spots.map(|spot| spot.rank + 1).max().unwrap_or(0);
        let mut heights = vec![0.0_f64; ranks];
        for (spot, bulk) in layers.nodes.iter().zip(&problem.nodes) {
            heights[spot.rank] = heights[spot.rank].max(bulk.size.height);
        }
        for (link, chain) in problem.links.iter().zip(&layers.chains) {
            if let (Some(label), Some(spot)) = (link.label, chain.spots.first()) {
                heights[spot.rank] = heights[spot.rank].max(label.height);
            }
        }
        Self { heights }
    }

    fn is_kept(&self, rank: usize) -> bool {
        self.heights[rank] > 0.0
    }

    /// The way of a link through ranks that take room.
    pub(crate) fn kept(&self, chain: &Chain) -> Chain {
        let spots = chain.spots.iter().copied().filter(|spot| self.is_kept(spot.rank));
        Chain { spots: spots.collect(), arrives: chain.arrives }
    }

    pub(crate) fn bands(
        &self,
        problem: &Problem,
        layers: &Layers,
        chains: &[Chain],
        ports: &Ports,
    ) -> Vec<Band> {
        let mut sidesteps = vec![0.0_f64; self.heights.len()];
        for (index, (link, chain)) in problem.links.iter().zip(chains).enumerate() {
            let (from, to) = (layers.nodes[link.from], layers.nodes[link.to]);
            let first = Spot { x: ports.from[index], ..from };
            let last = Spot { x: ports.to[index], ..to };
            let mut previous = first;
            for &spot in chain.spots.iter().chain(chain.arrives.then_some(&last)) {
                let upper = previous.rank.min(spot.rank);
                sidesteps[upper] = sidesteps[upper].max((previous.x - spot.x).abs());
                previous = spot;
            }
        }
        let mut y = 0.0;
        let mut bands = vec![Band::default(); self.heights.len()];
        for (rank, &height) in self.heights.iter().enumerate() {
            bands[rank] = Band { top: y, bottom: y + height };
            if self.is_kept(rank) {
                y += height + (GAP_MIN + sidesteps[rank] * GAP_SLOPE).min(GAP_MAX);
            }
        }
        bands
    }
}
