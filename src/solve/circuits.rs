//! Elementary circuits of a directed graph: Johnson, "Finding all the elementary circuits of a directed graph", SIAM J.
//! Comput. 4 (1975), with a cap, for there may be exponentially many.

/// Circuits of the graph whose node `i` has edges to `next[i]`, each as its nodes in order, starting at its least; at most
/// `most` of them, found from low nodes to high. The second value tells whether there are more.
pub fn circuits(next: &[Vec<usize>], most: usize) -> (Vec<Vec<usize>>, bool) {
    let n = next.len();
    let mut search = Search {
        next,
        most,
        least: 0,
        blocked: vec![false; n],
        waiting: vec![Vec::new(); n],
        found: Vec::new(),
    };
    for least in 0..n {
        search.least = least;
        search.blocked.fill(false);
        search.waiting.iter_mut().for_each(Vec::clear);
        search.search_least();
        if search.found.len() >= most {
            return (search.found, true);
        }
    }
    (search.found, false)
}

struct Search<'a> {
    next: &'a [Vec<usize>],
    most: usize,
    /// Circuits through this node and higher ones only are looked for.
    least: usize,
    blocked: Vec<bool>,
    /// Nodes to unblock when this one is unblocked.
    waiting: Vec<Vec<usize>>,
    found: Vec<Vec<usize>>,
}

impl Search<'_> {
    /// Johnson's CIRCUIT, on a stack of its own.
    fn search_least(&mut self) {
        let mut path = vec![self.least];
        let mut frames = vec![(0usize, false)];
        self.blocked[self.least] = true;
        while let (Some(&at), Some(frame)) = (path.last(), frames.last_mut()) {
            let (edge, closed) = *frame;
            let to = self.next[at].get(edge).copied();
            frame.0 += 1;
            match to {
                Some(to) if to == self.least => {
                    frame.1 = true;
                    self.found.push(path.clone());
                    if self.found.len() >= self.most {
                        return;
                    }
                }
                Some(to) if to > self.least && !self.blocked[to] => {
                    self.blocked[to] = true;
                    path.push(to);
                    frames.push((0, false));
                }
                Some(_) => {}
                None => {
                    self.leave(at, closed);
                    path.pop();
                    frames.pop();
                    if let Some(above) = frames.last_mut() {
                        above.1 |= closed;
                    }
                }
            }
        }
    }

    fn leave(&mut self, at: usize, closed: bool) {
        if closed {
            let mut free = vec![at];
            while let Some(node) = free.pop() {
                if std::mem::replace(&mut self.blocked[node], false) {
                    free.append(&mut self.waiting[node]);
                }
            }
        } else {
            for &to in self.next[at].iter().filter(|&&to| to >= self.least) {
                if !self.waiting[to].contains(&at) {
                    self.waiting[to].push(at);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_circuits_of_a_complete_graph_are_all_found_once() {
        // K4 has 6 circuits of length 2, 8 of length 3 and 6 of length 4
        let next: Vec<Vec<usize>> = (0..4).map(|i| (0..4).filter(|&j| j != i).collect()).collect();
        let (mut found, more) = circuits(&next, 100);
        assert!(!more);
        found.sort();
        found.dedup();
        assert_eq!(found.len(), 20);
    }

    #[test]
    fn the_cap_holds_where_diamonds_make_too_many() {
        // a loop of 20 diamonds has 2^20 circuits
        let mut next = Vec::new();
        for d in 0..20 {
            let at = 3 * d;
            next.extend([vec![at + 1, at + 2], vec![(at + 3) % 60], vec![(at + 3) % 60]]);
        }
        let (found, more) = circuits(&next, 500);
        assert!(more && found.len() == 500);
    }

    #[test]
    fn a_self_edge_is_a_circuit() {
        assert_eq!(circuits(&[vec![0, 1], vec![]], 10).0, [vec![0]]);
    }
}
