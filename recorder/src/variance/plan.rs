//! When the entry of a function is watched: windows at random times, so that every call has the same chance.
//!
//! A breakpoint that is armed at a random time and takes the next call prefers calls behind long gaps; where one call follows
//! the other, that is behind long calls, and the mean of what is sampled comes out as (μ² + σ²) / μ. So a window has a
//! length, and every call that begins in it is taken: each has the chance of a window to lie there, length / (length + gap),
//! however long the calls before it were. Lengths and gaps are of time that the thread ran, without what the tool adds. Where
//! they were measured by the clock on the wall, on a machine with nine times the work it has processors for, a stop in which
//! the tool had to wait used up the window, so that it held one call (calls of 14 to 230 µs came out 17 % too long); and with
//! gaps alone measured so, the scheduler favoured the thread after many stops, which is among short calls (11 %).
//!
//! Each window has a turn, a stretch of the thread's time, and lies at a random place in it: the rate is even, and what is
//! slower than a turn is seen evenly. In a simulation of a linear search over keys that move slowly, 530 calls gave a
//! coefficient of variation with a standard deviation of 4.3 % of it where gaps were exponentially distributed and windows made
//! for half a call, 3.1 % with turns, and 2.3 % with turns and windows for a quarter of a call; with a tenth it is no less.
//!
//! What a stop takes from a window is only known on average, and is measured again and again while the program runs (see
//! [`super::probes`]). A window that would hold more than 16 calls, or did hold 32, is closed after four; this concerns
//! functions that are called every 6 µs or more often. There calls behind pauses, and long ones, are preferred. The same
//! search, whose steps each call counted itself, beside builds of this project; the mean of the calls that were sampled, the
//! number estimated and the coefficient of variation beside the truth:
//!
//! ```text
//! mean of calls      runs      mean       number     cv
//!   5 µs (0.7–9)        4   1.08–1.28   0.64–1.66   0.58–0.88
//!  13 µs (2–24)         4   0.94–1.15   0.77–1.19   0.74–1.10
//! 260 µs (20–500)       3   1.01–1.04   0.81–1.28   0.94–0.99
//! 740 µs (50–1300)     13   0.98–1.04   0.94–1.17   0.97–1.03
//! ```
//!
//! Before looks spared the call that is measured (each takes a thread some 10 µs, and a call was looked at some four times),
//! and before the time from the exception to the stop was known, they were 1.10–1.14, 0.35; 0.97–1.09, 0.52–0.58; 0.96–1.02,
//! 0.70–0.74 in the first three rows. With the cost of a stop measured once, before the program began, 1.21–1.24, 0.20–0.25;
//! 0.92–1.11, 0.42–0.66; 0.72–0.88, 0.85–1.43. With how late each single window was opened in place of the mean, numbers were
//! 0.90–1.09 in the third row, and means 1.04–1.24: a few windows counted for most.

/// Calls taken in one window of a function that is called so often that no window is short enough.
const FEW: u32 = 4;
/// Calls expected in one window of any other function at most.
const SEVERAL: f64 = 16.0;
/// Calls taken in one window of such a function.
const MANY: u32 = 32;
/// Calls that a window is made for.
const WANTED: f64 = 0.25;
/// Seconds. Switching a breakpoint on takes some microseconds.
const SHORTEST: f64 = 100e-6;
/// Seconds of a function that nothing is known of, in which it is called half a time.
const UNKNOWN: f64 = 10e-6;
/// Seconds. Longer windows would keep a debug register from other functions.
const LONGEST: f64 = 0.2;
/// Seconds of windows without a call after which a function is looked for less.
const SILENT: f64 = 0.2;
/// Windows longer than this, in seconds, leave a register to the others.
pub const LONG: f64 = 5e-3;

/// Numbers from 64 bits of state (Steele, Lea, Flood: *Fast splittable pseudorandom number generators*, OOPSLA'14).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Between 0 and 1, and neither.
    pub fn uniform(&mut self) -> f64 {
        ((self.word() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Exponentially distributed.
    pub fn exponential(&mut self, mean: f64) -> f64 {
        -mean * self.uniform().ln()
    }
}

/// The windows of one function in one thread.
#[derive(Clone, Copy, Debug, Default)]
pub struct Plan {
    calls: u64,
    /// Seconds that windows were open.
    open: f64,
    wanted: u32,
    opened: u32,
    /// Seconds, in all, that windows were opened too late.
    late: f64,
    /// Windows for [`MANY`] calls that have ended, and those of them that were full.
    long: u32,
    full: u32,
}

/// Which part of `rate` calls a second, over all `plans`, is for `plan`: what functions that are called rarely, or are not
/// known to be called, cannot give is for the others.
pub fn share<'a>(rate: f64, plan: &Plan, plans: impl Iterator<Item = &'a Plan>) -> f64 {
    // windows are open at most half of the time
    let able = |plan: &Plan| 0.5 * plan.per_second();
    let mut all: Vec<f64> = plans.filter(|plan| plan.calls > 0).map(able).collect();
    all.sort_by(f64::total_cmp);
    let (mut left, mut level) = (rate, rate);
    for (ix, able) in all.iter().enumerate() {
        level = left / (all.len() - ix) as f64;
        if *able > level {
            break;
        }
        left -= able;
    }
    able(plan).min(level)
}

/// A window, the mean gap before it, in seconds, and the calls that end it.
#[derive(Clone, Copy, Debug, PartialEq)]
#[allow(missing_docs)]
pub struct Window {
    pub length: f64,
    pub gap: f64,
    pub most: u32,
}

impl Window {
    /// Seconds until it begins, where it lies at `place` of its turn and the one before lay at `before` of its own, 0 to 1.
    pub fn wait(&self, before: f64, place: f64) -> f64 {
        self.gap * (1.0 - before + place)
    }
}

impl Plan {
    /// Calls a second of the function, as far as known.
    fn per_second(&self) -> f64 {
        (self.calls as f64 + 0.5) / (self.open + UNKNOWN)
    }

    /// Whether nobody seems to call the function: it stays on the stack, as `main` does.
    fn is_silent(&self) -> bool {
        self.calls == 0 && self.open > SILENT
    }

    /// Seconds that windows are opened too late on average.
    fn late(&self) -> f64 {
        self.late / f64::from(self.opened.max(1))
    }

    /// The next window, for `rate` calls a second. The length doubles until there are calls, so that rare ones are found.
    pub fn window(&self, rate: f64) -> Window {
        let per_second = self.per_second();
        let length = (WANTED / per_second).clamp(SHORTEST, LONGEST);
        // where calls are short beside a stop, that many seem to take time of their own
        let is_full = 2 * self.full > self.long;
        let most = if self.calls == 0 || is_full || per_second * length > SEVERAL { FEW } else { MANY };
        let calls = (per_second * length).min(f64::from(most));
        let least = if self.is_silent() { 9.0 * length } else { length };
        let gap = (calls / rate - length - self.late()).max(least);
        Window { length, gap, most }
    }

    /// A window was due; if a register was free for it, so many seconds of the thread's time after that.
    pub fn due(&mut self, opened: Option<f64>) {
        self.wanted += 1;
        self.opened += u32::from(opened.is_some());
        self.late += opened.unwrap_or(0.0);
    }

    /// A window has ended.
    pub fn closed(&mut self, window: Window, calls: u32, seconds: f64) {
        self.long += u32::from(window.most == MANY);
        self.full += u32::from(calls >= MANY);
        self.calls += u64::from(calls);
        self.open += seconds.max(0.0);
    }

    /// How many calls one in `window` stands for. A window that is closed early is as long as its calls take; and gaps are
    /// longer than planned where the tool gets to run late.
    pub fn weight(&self, window: Window) -> f64 {
        let missed = f64::from(self.wanted.max(1)) / f64::from(self.opened.max(1));
        let length = window.length.min(f64::from(window.most) / self.per_second());
        (length + window.gap + self.late()) / length * missed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs windows over calls that begin at `starts`, in seconds; gives the indices of those taken, with weights.
    fn taken(starts: &[f64], rate: f64, seed: u64) -> Vec<(usize, f64)> {
        let (mut plan, mut random, mut at, mut taken) = (Plan::default(), Random(seed), 0.0, vec![]);
        let mut before = 0.5;
        while at < *starts.last().unwrap() {
            let window = plan.window(rate);
            let place = random.uniform();
            at += window.wait(before, place);
            before = place;
            plan.due(Some(0.0));
            let first = starts.partition_point(|start| *start < at);
            let calls = starts[first..]
                .iter()
                .take(window.most as usize)
                .take_while(|s| **s < at + window.length)
                .count();
            taken.extend((first..first + calls).map(|ix| (ix, plan.weight(window))));
            let end =
                if calls == window.most as usize { starts[first + calls - 1] } else { at + window.length };
            plan.closed(window, calls as u32, end - at);
            at = end;
        }
        taken
    }

    /// Calls of slowly growing length, over and over: what takes the next call at a random time gets wrong by a third.
    #[test]
    fn long_calls_are_not_preferred() {
        let length = |ix: usize| 5e-6 + 300e-6 * (ix % 500) as f64 / 500.0;
        let (mut at, mut starts) = (0.0, vec![]);
        for ix in 0..400_000 {
            starts.push(at);
            at += length(ix);
        }
        let truth: f64 = (0..500).map(length).sum::<f64>() / 500.0;
        let taken = taken(&starts, 200.0, 1);
        let weight: f64 = taken.iter().map(|(_, w)| w).sum();
        let mean = taken.iter().map(|(ix, w)| w * length(*ix)).sum::<f64>() / weight;
        assert!(taken.len() > 5000, "{}", taken.len());
        assert!((mean / truth - 1.0).abs() < 0.02, "{mean} for {truth}");
        assert!((weight / 400_000.0 - 1.0).abs() < 0.1, "{weight} calls for 400000");
    }

    #[test]
    fn each_turn_has_one_window() {
        let (mut random, mut before, mut waited) = (Random(7), 0.0, 0.0);
        let window = Window { length: 0.0, gap: 0.01, most: FEW };
        for turn in 0..1000 {
            let place = random.uniform();
            waited += window.wait(before, place);
            before = place;
            let turns = waited / window.gap;
            assert!((f64::from(turn)..f64::from(turn + 2)).contains(&turns), "{turns} after {turn}");
        }
    }

    #[test]
    fn what_rare_functions_cannot_give_others_do() {
        let of = |calls, open| Plan { calls, open, ..Plan::default() };
        let plans = [of(10, 1.0), of(100_000, 1.0), of(200_000, 1.0), of(0, 1.0)];
        let share = |ix: usize| super::share(60.0, &plans[ix], plans.iter());
        assert!((share(0) - 5.25).abs() < 0.01, "{}", share(0));
        assert!((share(1) - 27.4).abs() < 0.1 && share(1) == share(2), "{}", share(1));
        assert!(share(3) < 1.0);
    }

    #[test]
    fn rare_calls_are_found_and_frequent_ones_do_not_flood() {
        let rare: Vec<f64> = (0..400).map(|ix| 0.05 * f64::from(ix)).collect();
        assert!(taken(&rare, 50.0, 2).len() > 100);
        let frequent: Vec<f64> = (0..1_000_000).map(|ix| 1e-6 * f64::from(ix)).collect();
        let taken = taken(&frequent, 50.0, 3).len();
        assert!((20..200).contains(&taken), "{taken} in a second");
    }
}
