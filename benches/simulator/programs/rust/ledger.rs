// rustc: -C opt-level=2 -C target-feature=+crt-static
//! Entries in an ordered map and in shared cells, changed through trait objects and closures, and printed.
use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write;
use std::rc::Rc;

trait Rule {
    fn apply(&self, account: &mut Account, amount: i64) -> Result<i64, String>;
}

#[derive(Debug, Default, Clone)]
struct Account {
    balance: i64,
    history: VecDeque<i64>,
}

struct Fee(i64);
struct Limit {
    most: i64,
}
struct Tiers(Vec<(i64, i64)>);

impl Rule for Fee {
    fn apply(&self, account: &mut Account, amount: i64) -> Result<i64, String> {
        account.balance -= self.0;
        Ok(amount - self.0)
    }
}
impl Rule for Limit {
    fn apply(&self, account: &mut Account, amount: i64) -> Result<i64, String> {
        let recent: i64 = account.history.iter().sum();
        match recent.checked_add(amount) {
            Some(all) if all <= self.most => Ok(amount),
            _ => Err(format!("{recent} and {amount} are more than {}", self.most)),
        }
    }
}
impl Rule for Tiers {
    fn apply(&self, account: &mut Account, amount: i64) -> Result<i64, String> {
        let at = self.0.binary_search_by_key(&account.balance, |t| t.0).unwrap_or_else(|i| i.saturating_sub(1));
        Ok(amount * self.0[at].1 / 100)
    }
}

fn main() {
    let mut seed = 19u32;
    let mut next = |n: u32| {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        (seed >> 11) % n
    };
    let rules: Vec<Box<dyn Rule>> = vec![
        Box::new(Fee(2)),
        Box::new(Limit { most: 9000 }),
        Box::new(Tiers((0..12).map(|i| (i * 700 - 2000, 90 + i)).collect())),
    ];
    let accounts: Rc<RefCell<BTreeMap<String, Account>>> = Rc::default();
    let refused = RefCell::new(0u32);
    let shared = Rc::clone(&accounts);
    let book = |name: String, amount: i64, which: usize| {
        let mut all = shared.borrow_mut();
        let account = all.entry(name).or_default();
        match rules[which].apply(account, amount) {
            Ok(rest) => {
                account.balance += rest;
                account.history.push_back(rest);
                if account.history.len() > 6 {
                    account.history.pop_front();
                }
            }
            Err(_) => *refused.borrow_mut() += 1,
        }
    };
    for _ in 0..9000 {
        let name = format!("account-{:03}", next(400));
        book(name, i64::from(next(3000)) - 400, next(3) as usize);
    }
    let mut text = String::new();
    let mut all: Vec<(String, Account)> = accounts.borrow().iter().map(|(n, a)| (n.clone(), a.clone())).collect();
    all.sort_unstable_by_key(|(_, a)| (a.balance, a.history.len()));
    for (name, account) in &all {
        let mean = account.history.iter().map(|&v| v as f64).sum::<f64>() / account.history.len().max(1) as f64;
        writeln!(text, "{name:>14} {:8} {mean:10.3}", account.balance).ok();
    }
    println!("{} {}", text.len(), refused.borrow());
}
