// c++: -O2 -static
// Rays against shapes behind virtual functions, and what is done with the hits behind std::function.
#include <cmath>
#include <cstdio>
#include <functional>
#include <memory>
#include <vector>

struct Ray { double x, y, z, dx, dy, dz; };

struct Shape {
    virtual ~Shape() = default;
    virtual bool hit(const Ray &ray, double &at) const = 0;
    virtual double light(double at) const { return 1 / (1 + at); }
};

struct Sphere : Shape {
    double x, y, z, r;
    Sphere(double x, double y, double z, double r) : x(x), y(y), z(z), r(r) {}
    bool hit(const Ray &ray, double &at) const override {
        double ox = ray.x - x, oy = ray.y - y, oz = ray.z - z;
        double b = ox * ray.dx + oy * ray.dy + oz * ray.dz, c = ox * ox + oy * oy + oz * oz - r * r;
        double d = b * b - c;
        if (d < 0) return false;
        at = -b - std::sqrt(d);
        return at > 1e-4;
    }
};

struct Plane : Shape {
    double height;
    explicit Plane(double height) : height(height) {}
    bool hit(const Ray &ray, double &at) const override {
        if (std::fabs(ray.dy) < 1e-6) return false;
        at = (height - ray.y) / ray.dy;
        return at > 1e-4;
    }
    double light(double at) const override { return .5 / (1 + at * at); }
};

struct Box : Shape {
    double lo[3], hi[3];
    Box(double x, double y, double z, double s) : lo{x, y, z}, hi{x + s, y + s, z + s} {}
    bool hit(const Ray &ray, double &at) const override {
        const double o[3] = {ray.x, ray.y, ray.z}, d[3] = {ray.dx, ray.dy, ray.dz};
        double in = 1e-4, out = 1e9;
        for (int i = 0; i < 3; i++) {
            double a = (lo[i] - o[i]) / d[i], b = (hi[i] - o[i]) / d[i];
            if (a > b) std::swap(a, b);
            if (a > in) in = a;
            if (b < out) out = b;
            if (in > out) return false;
        }
        at = in;
        return true;
    }
};

struct Turned : Shape {
    std::unique_ptr<Shape> inner;
    double c, s;
    Turned(std::unique_ptr<Shape> inner, double by) : inner(std::move(inner)), c(std::cos(by)), s(std::sin(by)) {}
    bool hit(const Ray &r, double &at) const override {
        Ray turned{c * r.x - s * r.z, r.y, s * r.x + c * r.z, c * r.dx - s * r.dz, r.dy, s * r.dx + c * r.dz};
        return inner->hit(turned, at);
    }
    double light(double at) const override { return .9 * inner->light(at); }
};

int main() {
    unsigned seed = 3;
    auto chance = [&] { return (seed = seed * 1664525 + 1013904223) / 4294967296.0; };
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Plane>(-1));
    for (int i = 0; i < 40; i++) {
        double x = 8 * chance() - 4, y = 2 * chance(), z = 4 + 6 * chance(), s = .2 + chance();
        std::unique_ptr<Shape> one;
        if (chance() < .6) one = std::make_unique<Sphere>(x, y, z, s);
        else one = std::make_unique<Box>(x, y, z, s);
        if (chance() < .3) one = std::make_unique<Turned>(std::move(one), chance());
        shapes.push_back(std::move(one));
    }
    double sum = 0;
    int far = 0;
    std::vector<std::function<void(double, double)>> sinks;
    sinks.push_back([&](double light, double) { sum += light; });
    sinks.push_back([&](double, double at) { far += at > 6; });
    for (int i = 0; i < 1500; i++) {
        double dx = chance() - .5, dy = chance() - .4, n = std::sqrt(dx * dx + dy * dy + 1);
        Ray ray{0, .5, 0, dx / n, dy / n, 1 / n};
        double nearest = 1e9;
        const Shape *what = nullptr;
        for (const auto &shape : shapes) {
            double at;
            if (shape->hit(ray, at) && at < nearest) nearest = at, what = shape.get();
        }
        if (what)
            for (const auto &sink : sinks) sink(what->light(nearest), nearest);
    }
    std::printf("%g %d\n", sum, far);
}
