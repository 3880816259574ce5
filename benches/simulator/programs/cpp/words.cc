// c++: -O2 -static
// Words counted in a hash table, sorted and printed (libstdc++).
#include <algorithm>
#include <iostream>
#include <sstream>
#include <string>
#include <unordered_map>
#include <vector>

int main() {
    std::string text;
    unsigned seed = 11;
    for (int i = 0; i < 30000; i++) {
        seed = seed * 1664525 + 1013904223;
        unsigned n = (seed >> 20) * (seed >> 20) % 3000;
        for (n += 7; n; n /= 19) text += char('a' + n % 19);
        text += seed >> 29 ? ' ' : '\n';
    }
    std::istringstream in(text);
    std::unordered_map<std::string, unsigned> counts;
    for (std::string word; in >> word;) counts[word]++;
    std::vector<std::pair<std::string, unsigned>> sorted(counts.begin(), counts.end());
    std::sort(sorted.begin(), sorted.end(), [](const auto &a, const auto &b) {
        return a.second != b.second ? a.second > b.second : a.first < b.first;
    });
    std::ostringstream out;
    for (const auto &[word, count] : sorted) out << word << ' ' << count << '\n';
    std::cout << out.str().size() << '\n';
}
