#include "core/simplify.h"

#include <algorithm>
#include <utility>

namespace tessera {
namespace {

int64_t cross(const Corner& o, const Corner& a, const Corner& b) {
  return (int64_t{a.x} - o.x) * (int64_t{b.y} - o.y) - (int64_t{a.y} - o.y) * (int64_t{b.x} - o.x);
}

double squared(const Corner& a, const Corner& b) {
  const double x = a.x - b.x, y = a.y - b.y;
  return x * x + y * y;
}

// Squared distance of a corner from the stretch between two others.
double squared_distance(const Corner& p, const Corner& a, const Corner& b) {
  const double length = squared(a, b);
  if (length == 0) return squared(p, a);
  const double along = (static_cast<double>(p.x - a.x) * (b.x - a.x) + static_cast<double>(p.y - a.y) * (b.y - a.y)) / length;
  if (along <= 0) return squared(p, a);
  if (along >= 1) return squared(p, b);
  const auto area = static_cast<double>(cross(a, b, p));
  return area * area / length;
}

// Marks which corners stay, between those at `begin` and `end`, which do. With a stack of its own: outlines may have millions
// of corners.
void mark(const Ring& ring, size_t begin, size_t end, double tolerance, std::vector<bool>& stays) {
  std::vector<std::pair<size_t, size_t>> open{{begin, end}};
  while (!open.empty()) {
    const auto [first, last] = open.back();
    open.pop_back();
    double most = tolerance * tolerance;
    size_t farthest = first;
    for (size_t i = first + 1; i < last; ++i) {
      const double distance = squared_distance(ring[i], ring[first], ring[last % ring.size()]);
      if (distance > most) most = distance, farthest = i;
    }
    if (farthest == first) continue;
    stays[farthest] = true;
    open.emplace_back(first, farthest);
    open.emplace_back(farthest, last);
  }
}

Ring simplified_ring(const Ring& ring, double tolerance) {
  // The ring is two lines between its first corner and the one farthest from it.
  const auto nearer = [&](const Corner& a, const Corner& b) { return squared(a, ring[0]) < squared(b, ring[0]); };
  const auto middle = static_cast<size_t>(std::max_element(ring.begin(), ring.end(), nearer) - ring.begin());
  std::vector<bool> stays(ring.size());
  stays[0] = stays[middle] = true;
  mark(ring, 0, middle, tolerance, stays);
  mark(ring, middle, ring.size(), tolerance, stays);
  Ring left;
  for (size_t i = 0; i < ring.size(); ++i) {
    if (stays[i]) left.push_back(ring[i]);
  }
  return left;
}

struct Edge {
  Corner a, b;
  size_t ring, number, of;  // which edge of which ring, and how many that has

  int left() const { return std::min(a.x, b.x); }
  int right() const { return std::max(a.x, b.x); }
  bool reaches(const Corner& p) const {  // of a corner on the line through the edge
    return left() <= p.x && p.x <= right() && std::min(a.y, b.y) <= p.y && p.y <= std::max(a.y, b.y);
  }
  bool is_before(const Edge& other) const { return ring == other.ring && (number + 1) % of == other.number; }
};

int sign(int64_t value) {
  return (value > 0 ? 1 : 0) - (value < 0 ? 1 : 0);
}

// Whether two edges have a point in common that they may not have: neighbours share one corner, other edges of a ring nothing,
// those of different rings at most a corner of both.
bool clash(const Edge& one, const Edge& other) {
  if (other.is_before(one)) return clash(other, one);
  const int a = sign(cross(one.a, one.b, other.a)), b = sign(cross(one.a, one.b, other.b));
  const int c = sign(cross(other.a, other.b, one.a)), d = sign(cross(other.a, other.b, one.b));
  if (one.is_before(other)) return b == 0 && (one.reaches(other.b) || other.reaches(one.a));  // the line turns back on itself
  if (a * b < 0 && c * d < 0) return true;
  const auto touches = [&](int side, const Corner& p, const Edge& edge) {
    return side == 0 && edge.reaches(p) && (one.ring == other.ring || !(p == edge.a || p == edge.b));
  };
  return touches(a, other.a, one) || touches(b, other.b, one) || touches(c, one.a, other) || touches(d, one.b, other);
}

bool is_valid(const Outline& outline) {
  std::vector<Edge> edges;
  const auto add = [&](const Ring& ring, size_t number) {
    for (size_t i = 0; i < ring.size(); ++i) edges.push_back({ring[i], ring[(i + 1) % ring.size()], number, i, ring.size()});
  };
  add(outline.outer, 0);
  for (size_t i = 0; i < outline.holes.size(); ++i) add(outline.holes[i], i + 1);
  // From left to right: only edges that begin before this one ends can meet it.
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.left() < b.left(); });
  for (size_t i = 0; i < edges.size(); ++i) {
    for (size_t j = i + 1; j < edges.size() && edges[j].left() <= edges[i].right(); ++j) {
      if (clash(edges[i], edges[j])) return false;
    }
  }
  return true;
}

}  // namespace

Outline simplified(const Outline& outline, double tolerance) {
  constexpr double kLeast = 0.5;  // below it next to nothing can be left out of lines along pixels
  for (; tolerance >= kLeast; tolerance /= 2) {
    Outline simple{simplified_ring(outline.outer, tolerance), {}};
    if (doubled_area(simple.outer) <= 0) continue;
    for (const Ring& hole : outline.holes) {
      Ring ring = simplified_ring(hole, tolerance);
      if (doubled_area(ring) < 0) simple.holes.push_back(std::move(ring));
    }
    if (is_valid(simple)) return simple;
  }
  return outline;
}

}  // namespace tessera
