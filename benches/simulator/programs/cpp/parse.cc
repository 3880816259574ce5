// c++: -O2 -static
// Expressions parsed by recursive descent into variants, simplified and evaluated; bad ones throw.
#include <cstdio>
#include <cstring>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <variant>

struct Node;
using Ptr = std::unique_ptr<Node>;
struct Number { double value; };
struct Name { std::string text; };
struct Binary { char op; Ptr left, right; };
struct Node { std::variant<Number, Name, Binary> is; };

struct Bad : std::runtime_error { using runtime_error::runtime_error; };

struct Parser {
    const char *at;
    Ptr make(std::variant<Number, Name, Binary> is) { return std::make_unique<Node>(Node{std::move(is)}); }
    Ptr sum() {
        Ptr left = product();
        while (*at == '+' || *at == '-') {
            char op = *at++;
            left = make(Binary{op, std::move(left), product()});
        }
        return left;
    }
    Ptr product() {
        Ptr left = atom();
        while (*at == '*' || *at == '/') {
            char op = *at++;
            left = make(Binary{op, std::move(left), atom()});
        }
        return left;
    }
    Ptr atom() {
        if (*at == '(') {
            at++;
            Ptr inner = sum();
            if (*at++ != ')') throw Bad("no )");
            return inner;
        }
        if (*at >= '0' && *at <= '9') {
            double v = 0;
            while (*at >= '0' && *at <= '9') v = v * 10 + (*at++ - '0');
            return make(Number{v});
        }
        if (*at >= 'a' && *at <= 'z') {
            const char *from = at;
            while (*at >= 'a' && *at <= 'z') at++;
            return make(Name{std::string(from, at)});
        }
        throw Bad("unexpected");
    }
};

static double value(const Node &node, const std::map<std::string, double> &names) {
    struct Visitor {
        const std::map<std::string, double> &names;
        double operator()(const Number &n) const { return n.value; }
        double operator()(const Name &n) const { return names.at(n.text); }
        double operator()(const Binary &b) const {
            double l = value(*b.left, names), r = value(*b.right, names);
            switch (b.op) {
            case '+': return l + r;
            case '-': return l - r;
            case '*': return l * r;
            default: return r != 0 ? l / r : 0;
            }
        }
    };
    return std::visit(Visitor{names}, node.is);
}

int main() {
    unsigned seed = 17;
    auto next = [&](unsigned n) { return (seed = seed * 1664525 + 1013904223) >> 16, (seed >> 16) % n; };
    std::map<std::string, double> names{{"x", 3}, {"yy", 4}, {"length", 5.5}, {"w", .25}, {"height", 2}};
    const char *known[] = {"x", "yy", "length", "w", "height", "none"};
    double sum = 0;
    int bad = 0;
    for (int i = 0; i < 900; i++) {
        std::string text;
        int open = 0;
        for (int terms = 3 + next(12); terms; terms--) {
            while (!next(3)) text += '(', open++;
            if (next(3)) text += std::to_string(next(5000));
            else text += known[next(40) ? next(5) : 5];
            while (open && !next(2)) text += ')', open--;
            if (terms > 1) text += "+-*/"[next(4)];
        }
        if (next(25)) text += std::string(open, ')');
        try {
            Parser parser{text.c_str()};
            Ptr all = parser.sum();
            sum += value(*all, names);
        } catch (const Bad &) {
            bad++;
        } catch (const std::out_of_range &) {
            bad += 1000;
        }
    }
    std::printf("%g %d\n", sum, bad);
}
