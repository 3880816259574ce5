// rustc: -C opt-level=3 -C target-feature=+crt-static
//! Numbers in slices: a matrix, a prefix sum, a life board, wide integers, a median; bounds are checked.
fn multiply(a: &[f64], b: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n * n];
    for (row, to) in a.chunks_exact(n).zip(out.chunks_exact_mut(n)) {
        for (k, x) in row.iter().enumerate() {
            to.iter_mut().zip(&b[k * n..]).for_each(|(t, y)| *t += x * y);
        }
    }
    out
}

fn life(board: &[u8], w: usize) -> Vec<u8> {
    let h = board.len() / w;
    (0..board.len())
        .map(|i| {
            let (y, x) = (i / w, i % w);
            let mut around = 0;
            for dy in [h - 1, 0, 1] {
                for dx in [w - 1, 0, 1] {
                    if (dy, dx) != (0, 0) {
                        around += board[(y + dy) % h * w + (x + dx) % w];
                    }
                }
            }
            u8::from(matches!((board[i], around), (1, 2) | (_, 3)))
        })
        .collect()
}

fn power(mut base: u64, mut exponent: u64, modulus: u64) -> u64 {
    let mut out = 1;
    while exponent > 0 {
        if exponent & 1 == 1 {
            out = (u128::from(out) * u128::from(base) % u128::from(modulus)) as u64;
        }
        base = (u128::from(base) * u128::from(base) % u128::from(modulus)) as u64;
        exponent >>= 1;
    }
    out
}

fn main() {
    let mut seed = 31u32;
    let mut next = move || {
        seed = seed.wrapping_mul(1664525).wrapping_add(1013904223);
        seed >> 9
    };
    let n = 40;
    let a: Vec<f64> = (0..n * n).map(|_| f64::from(next() % 100)).collect();
    let b: Vec<f64> = (0..n * n).map(|_| f64::from(next() % 100)).collect();
    let c = multiply(&multiply(&a, &b, n), &b, n);
    let mut sorted = c.clone();
    sorted.sort_by(f64::total_cmp);
    let mut board: Vec<u8> = (0..48 * 40).map(|_| u8::from(next() % 3 == 0)).collect();
    for _ in 0..4 {
        board = life(&board, 48);
    }
    let mut sums = vec![0i64];
    for i in 0..20000 {
        let last = sums[i];
        sums.push(last + i64::from(next() % 7) - 3);
    }
    let runs = sums.windows(3).filter(|w| w[0] < w[1] && w[1] < w[2]).count();
    let powers: u64 = (0..150).map(|_| power(u64::from(next()), 65537, 0xffff_ffff_ffff_ffc5)).fold(0, u64::wrapping_add);
    println!("{} {} {runs} {powers}", sorted[sorted.len() / 2], board.iter().map(|&b| u32::from(b)).sum::<u32>());
}
