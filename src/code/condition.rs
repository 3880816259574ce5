//! When a conditional branch is taken, as a condition on a difference.
//!
//! In: the name of the branch. Out: whether it is taken for a difference, and for which of a row of them first. It knows nothing
//! of overflow, nor whether what is compared has a sign: that the difference is that of the numbers meant, others see to.

/// A loop that runs longer is as good as endless.
const LONGEST: i64 = 1 << 40;

/// What is asked of a difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    /// It is 0.
    Zero,
    /// It is not.
    NotZero,
    /// Greater than, or equal to, this.
    AtLeast(i64),
    /// Less than, or equal to, this.
    AtMost(i64),
}

impl Condition {
    /// When `mnemonic` is taken. Of the flags of a `result` only zero and sign are known.
    pub fn of(mnemonic: &str, result: bool) -> Option<Condition> {
        Some(match mnemonic {
            "jz" => Condition::Zero,
            "jnz" => Condition::NotZero,
            "js" | "jl" => Condition::AtMost(-1),
            "jns" | "jge" => Condition::AtLeast(0),
            "jle" => Condition::AtMost(0),
            "jg" => Condition::AtLeast(1),
            _ if result => return None,
            "jb" => Condition::AtMost(-1),
            "jnb" => Condition::AtLeast(0),
            "jna" => Condition::AtMost(0),
            "ja" => Condition::AtLeast(1),
            _ => return None,
        })
    }

    /// Whether `mnemonic` asks of numbers without a sign which is the greater.
    pub fn is_unsigned(mnemonic: &str) -> bool {
        matches!(mnemonic, "jb" | "jnb" | "jna" | "ja")
    }

    /// Whether it asks only whether two numbers are the same.
    pub fn is_equality(self) -> bool {
        matches!(self, Condition::Zero | Condition::NotZero)
    }

    /// The opposite.
    pub fn not(self) -> Condition {
        match self {
            Condition::Zero => Condition::NotZero,
            Condition::NotZero => Condition::Zero,
            Condition::AtLeast(n) => Condition::AtMost(n - 1),
            Condition::AtMost(n) => Condition::AtLeast(n + 1),
        }
    }

    /// The least n ≥ 0 for which it holds of `first` + n · `step`.
    pub fn first(self, first: i64, step: i64) -> Option<i64> {
        let turns = match self {
            Condition::NotZero if first != 0 => 0,
            Condition::NotZero => (step != 0).then_some(1)?,
            Condition::Zero if first == 0 => 0,
            Condition::Zero => (step != 0 && first.checked_rem(step)? == 0)
                .then(|| first.checked_neg()?.checked_div(step))??,
            Condition::AtLeast(n) if first >= n => 0,
            Condition::AtLeast(n) => {
                let missing = n.checked_sub(first)?;
                (step > 0).then(|| (missing - 1) / step + 1)?
            }
            Condition::AtMost(n) if first <= n => 0,
            Condition::AtMost(n) => {
                Condition::AtLeast(n.checked_neg()?).first(first.checked_neg()?, step.checked_neg()?)?
            }
        };
        (0..LONGEST).contains(&turns).then_some(turns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_of_a_row_is_that_which_counting_finds() {
        let branches = ["jz", "jnz", "jl", "jge", "jle", "jg", "jb", "jnb", "jna", "ja"];
        let holds = |condition, value: i64| match condition {
            Condition::Zero => value == 0,
            Condition::NotZero => value != 0,
            Condition::AtLeast(n) => value >= n,
            Condition::AtMost(n) => value <= n,
        };
        for condition in branches.iter().filter_map(|branch| Condition::of(branch, false)) {
            for condition in [condition, condition.not()] {
                for (first, step) in (-9..10).flat_map(|first| (-4..5).map(move |step| (first, step))) {
                    let counted = (0..40).find(|n| holds(condition, first + n * step));
                    assert_eq!(
                        condition.first(first, step),
                        counted,
                        "{condition:?} of {first} + n · {step}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_sum_has_no_carry_that_counts_and_numbers_may_be_as_large_as_they_like() {
        assert_eq!(Condition::of("jb", true), None);
        assert_eq!(Condition::of("jo", false), None);
        assert_eq!(Condition::AtLeast(1).first(i64::MIN, 1), None);
        assert_eq!(Condition::Zero.first(i64::MIN, -1), None);
        assert_eq!(Condition::AtMost(-1).first(i64::MAX, i64::MIN), None);
    }
}
