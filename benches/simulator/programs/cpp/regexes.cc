// c++: -O2 -static
// Regular expressions of the C++ library over lines of text.
#include <cstdio>
#include <regex>
#include <string>

int main() {
    std::regex mail("([a-z0-9]+)@([a-z]+)\\.(com|org|net)"), date("(\\d{4})-(\\d\\d)-(\\d\\d)");
    unsigned seed = 29, found = 0;
    auto next = [&](unsigned m) { return seed = seed * 1664525 + 1013904223, (seed >> 14) % m; };
    for (int i = 0; i < 120; i++) {
        std::string line;
        for (int words = 4 + next(5); words; words--) {
            switch (next(6)) {
            case 0: line += std::to_string(1900 + next(120)) + "-0" + std::to_string(1 + next(9)) + "-1" + std::to_string(next(10)); break;
            case 1: line += "user" + std::to_string(next(99)) + "@mail." + (next(2) ? "com" : "xyz"); break;
            default:
                for (int k = 2 + next(6); k; k--) line += char('a' + next(26));
            }
            line += ' ';
        }
        for (std::sregex_iterator m(line.begin(), line.end(), date), end; m != end; ++m) found += (*m)[1].length();
        std::smatch m;
        if (std::regex_search(line, m, mail)) found += 1000;
    }
    std::printf("%u\n", found);
}
