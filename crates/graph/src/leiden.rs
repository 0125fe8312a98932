//! Communities by the Leiden method (Traag, Waltman and van Eck 2019) with modularity: nodes move where they gain
//! most, communities are refined into connected parts, and the parts become the nodes of the next level. Where the
//! method chooses at random, this takes the best choice, so the same graph always gives the same communities.

use std::collections::{HashMap, VecDeque};

use crate::edge::Edge;

/// An upper bound; real graphs end after three or four levels.
const MOST_LEVELS: usize = 16;
/// Most moves per node and level, so that rounding cannot cause endless moves.
const MOST_MOVES: usize = 32;
/// Smallest modularity gain that counts as an improvement.
const EPSILON: f64 = 1e-9;

/// Returns the community of each node; 0 is the largest. A node without edges is a community by itself.
pub fn communities(nodes: usize, edges: &[Edge]) -> Vec<u32> {
    let mut network = Network::of(nodes, edges);
    let mut community: Vec<u32> = numbers(nodes);
    // For every original node, the node of the current network that contains it.
    let mut holder: Vec<u32> = numbers(nodes);
    for _ in 0..MOST_LEVELS {
        network.move_nodes(&mut community);
        let refined = renumber(&network.refine(&community));
        let count = refined.iter().max().map_or(0, |&last| last as usize + 1);
        if count == network.degrees.len() {
            break;
        }
        let mut next_community = vec![0; count];
        for (node, &part) in refined.iter().enumerate() {
            next_community[part as usize] = community[node];
        }
        holder.iter_mut().for_each(|node| *node = refined[*node as usize]);
        network = network.aggregate(&refined, count);
        community = renumber(&next_community);
    }
    let found: Vec<u32> = holder.iter().map(|&node| community[node as usize]).collect();
    by_size(&connected(&found, edges))
}

/// Splits communities that the last moves left disconnected.
fn connected(partition: &[u32], edges: &[Edge]) -> Vec<u32> {
    let mut parents = numbers(partition.len());
    let root = |parents: &mut Vec<u32>, mut node: u32| {
        while parents[node as usize] != node {
            let grandparent = parents[parents[node as usize] as usize];
            parents[node as usize] = grandparent;
            node = grandparent;
        }
        node
    };
    for edge in edges.iter().filter(|edge| partition[edge.source as usize] == partition[edge.target as usize])
    {
        let (one, other) = (root(&mut parents, edge.source), root(&mut parents, edge.target));
        parents[one.max(other) as usize] = one.min(other);
    }
    (0..partition.len() as u32).map(|node| root(&mut parents, node)).collect()
}

/// A weighted undirected graph. The links of node n are `links[starts[n]..starts[n + 1]]`.
struct Network {
    starts: Vec<usize>,
    links: Vec<(u32, f64)>,
    /// Sums of the weights of each node's links, those inside a node counted twice.
    degrees: Vec<f64>,
    total: f64,
}

impl Network {
    fn of(nodes: usize, edges: &[Edge]) -> Network {
        let mut degrees = vec![0.0; nodes];
        let mut pairs = Vec::with_capacity(edges.len());
        for edge in edges {
            let weight = f64::from(edge.strength);
            degrees[edge.source as usize] += weight;
            degrees[edge.target as usize] += weight;
            pairs.push((edge.source, edge.target, weight));
        }
        Network::linked(degrees, &pairs)
    }

    /// Builds the network from pairs that are given once each.
    fn linked(degrees: Vec<f64>, pairs: &[(u32, u32, f64)]) -> Network {
        let mut starts = vec![0; degrees.len() + 1];
        for &(one, other, _) in pairs {
            starts[one as usize + 1] += 1;
            starts[other as usize + 1] += 1;
        }
        for node in 0..degrees.len() {
            starts[node + 1] += starts[node];
        }
        let mut next = starts.clone();
        let mut links = vec![(0, 0.0); pairs.len() * 2];
        for &(one, other, weight) in pairs {
            for (from, to) in [(one, other), (other, one)] {
                links[next[from as usize]] = (to, weight);
                next[from as usize] += 1;
            }
        }
        let total = degrees.iter().sum();
        Network { starts, links, degrees, total }
    }

    fn links(&self, node: usize) -> &[(u32, f64)] {
        &self.links[self.starts[node]..self.starts[node + 1]]
    }

    /// Moves nodes to the neighbouring community with the largest gain, until none gains.
    fn move_nodes(&self, community: &mut [u32]) {
        let count = self.degrees.len();
        let mut sizes = vec![0.0; count];
        community.iter().zip(&self.degrees).for_each(|(&c, degree)| sizes[c as usize] += degree);
        let mut waiting: VecDeque<u32> = (0..count as u32).collect();
        let mut is_waiting = vec![true; count];
        let mut links = Links::new(count);
        let mut moves = count.saturating_mul(MOST_MOVES);
        while let Some(node) = waiting.pop_front() {
            let index = node as usize;
            is_waiting[index] = false;
            let old = community[index];
            sizes[old as usize] -= self.degrees[index];
            links.collect(self.links(index), community);
            let gain = |c: u32| links.weight(c) - self.degrees[index] * sizes[c as usize] / self.total;
            let best = best(old, &links.seen, gain);
            sizes[best as usize] += self.degrees[index];
            community[index] = best;
            if best == old || moves == 0 {
                continue;
            }
            moves -= 1;
            for &(neighbour, _) in self.links(index) {
                if community[neighbour as usize] != best && !is_waiting[neighbour as usize] {
                    is_waiting[neighbour as usize] = true;
                    waiting.push_back(neighbour);
                }
            }
        }
    }

    /// Splits each community into connected parts: single nodes join the part of their community where they gain
    /// most, if both they and that part are well connected to the rest of it.
    fn refine(&self, community: &[u32]) -> Vec<u32> {
        let count = self.degrees.len();
        let mut whole = vec![0.0; count];
        community.iter().zip(&self.degrees).for_each(|(&c, degree)| whole[c as usize] += degree);
        let inside = |node: usize| -> f64 {
            let same =
                self.links(node).iter().filter(|(other, _)| community[*other as usize] == community[node]);
            same.map(|(_, weight)| weight).sum()
        };
        let mut part = numbers(count);
        let mut sizes = self.degrees.clone();
        // The weight from each part to the rest of its community.
        let mut ties: Vec<f64> = (0..count).map(inside).collect();
        let mut is_alone = vec![true; count];
        let mut links = Links::new(count);
        let is_tied = |size: f64, tie: f64, whole: f64| tie + EPSILON >= size * (whole - size) / self.total;
        for node in 0..count {
            let whole = whole[community[node] as usize];
            if !is_alone[node] || !is_tied(self.degrees[node], ties[node], whole) {
                continue;
            }
            links.collect(self.links(node), &part);
            let own = node as u32;
            let gain = |p: u32| links.weight(p) - self.degrees[node] * sizes[p as usize] / self.total;
            let joins = |p: &u32| {
                let index = *p as usize;
                community[index] == community[node] && is_tied(sizes[index], ties[index], whole)
            };
            let candidates: Vec<u32> = links.seen.iter().copied().filter(|p| *p != own && joins(p)).collect();
            let best = best(own, &candidates, |p| if p == own { 0.0 } else { gain(p) });
            if best == own {
                continue;
            }
            part[node] = best;
            sizes[best as usize] += self.degrees[node];
            ties[best as usize] += ties[node] - 2.0 * links.weight(best);
            is_alone[best as usize] = false;
        }
        part
    }

    fn aggregate(&self, part: &[u32], count: usize) -> Network {
        let mut degrees = vec![0.0; count];
        let mut pairs: Vec<(u32, u32, f64)> = Vec::new();
        for node in 0..self.degrees.len() {
            let own = part[node];
            degrees[own as usize] += self.degrees[node];
            let outward = self.links(node).iter().map(|&(other, weight)| (own, part[other as usize], weight));
            pairs.extend(outward.filter(|(own, other, _)| own < other));
        }
        pairs.sort_by_key(|&(one, other, _)| (one, other));
        pairs.dedup_by(|next, first| {
            let same = (next.0, next.1) == (first.0, first.1);
            first.2 += if same { next.2 } else { 0.0 };
            same
        });
        Network::linked(degrees, &pairs)
    }
}

/// The weight of one node's links to each neighbouring community.
struct Links {
    weights: Vec<f64>,
    seen: Vec<u32>,
}

impl Links {
    fn new(count: usize) -> Links {
        Links { weights: vec![0.0; count], seen: Vec::new() }
    }

    fn collect(&mut self, neighbours: &[(u32, f64)], community: &[u32]) {
        self.seen.drain(..).for_each(|c| self.weights[c as usize] = 0.0);
        for &(other, weight) in neighbours {
            let c = community[other as usize];
            if self.weights[c as usize] == 0.0 {
                self.seen.push(c);
            }
            self.weights[c as usize] += weight;
        }
        self.seen.sort_unstable();
    }

    fn weight(&self, community: u32) -> f64 {
        self.weights[community as usize]
    }
}

/// Returns the candidate with the largest gain, or `stay` if none gains more.
fn best(stay: u32, candidates: &[u32], gain: impl Fn(u32) -> f64) -> u32 {
    let mut best = (stay, gain(stay));
    for &candidate in candidates {
        let gained = gain(candidate);
        if gained > best.1 + EPSILON {
            best = (candidate, gained);
        }
    }
    best.0
}

fn numbers(count: usize) -> Vec<u32> {
    (0..count as u32).collect()
}

/// Returns the same partition with numbers from 0 in the order of first use.
fn renumber(partition: &[u32]) -> Vec<u32> {
    let mut new: HashMap<u32, u32> = HashMap::new();
    partition
        .iter()
        .map(|&old| {
            let next = new.len() as u32;
            *new.entry(old).or_insert(next)
        })
        .collect()
}

/// Returns the same partition numbered by decreasing size; of equals, the one with the first node comes first.
fn by_size(partition: &[u32]) -> Vec<u32> {
    let partition = renumber(partition);
    let mut sizes = vec![0_usize; partition.iter().max().map_or(0, |&last| last as usize + 1)];
    partition.iter().for_each(|&c| sizes[c as usize] += 1);
    let mut order = numbers(sizes.len());
    order.sort_by_key(|&c| std::cmp::Reverse(sizes[c as usize]));
    let mut rank = vec![0; order.len()];
    (0..).zip(order).for_each(|(new, old)| rank[old as usize] = new);
    partition.iter().map(|&c| rank[c as usize]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(source: u32, target: u32) -> Edge {
        Edge { source, target, strength: 0.5 }
    }

    fn clique(nodes: std::ops::Range<u32>) -> Vec<Edge> {
        let pairs = |one: u32| (one + 1..nodes.end).map(move |other| edge(one, other));
        nodes.clone().flat_map(pairs).collect()
    }

    #[test]
    fn cliques_joined_by_single_edges_are_the_communities_and_the_largest_comes_first() {
        let mut edges = [clique(0..4), clique(4..10), clique(10..14)].concat();
        edges.extend([edge(3, 4), edge(9, 10), edge(0, 13)]);
        assert_eq!(communities(15, &edges), [1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 3]);
    }

    /// The simpler Louvain method may leave communities that are connected only through a node that has moved away.
    #[test]
    fn every_community_hangs_together() {
        let mut state = 1_u64;
        for round in 0..40 {
            let nodes = 300;
            let mut edges = Vec::new();
            for _ in 0..400 + round * 20 {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let (one, other) = ((state >> 33) as u32 % nodes, (state >> 43) as u32 % nodes);
                if one < other {
                    edges.push(Edge {
                        source: one,
                        target: other,
                        strength: ((state >> 60) as f32 / 16.0).powi(4) + 0.01,
                    });
                }
            }
            let found = communities(nodes as usize, &edges);
            let inside: Vec<Edge> = edges
                .iter()
                .copied()
                .filter(|e| found[e.source as usize] == found[e.target as usize])
                .collect();
            let mut reached: Vec<u32> = (0..nodes).collect();
            for _ in 0..nodes {
                for edge in &inside {
                    let least = reached[edge.source as usize].min(reached[edge.target as usize]);
                    (reached[edge.source as usize], reached[edge.target as usize]) = (least, least);
                }
            }
            for (one, other) in (0..nodes as usize).flat_map(|one| (0..one).map(move |other| (one, other))) {
                assert_eq!(
                    found[one] == found[other],
                    found[one] == found[other] && reached[one] == reached[other]
                );
            }
        }
    }

    #[test]
    fn nodes_without_edges_are_alone() {
        assert_eq!(communities(3, &[]), [0, 1, 2]);
        assert_eq!(communities(0, &[]), [0; 0]);
    }
}
