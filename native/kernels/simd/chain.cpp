// Chains of float32 and float64. A block of registers goes through all steps, then the next block. A step is
// a function that takes the block in registers and ends in a jump to the function of the next step.
#include "native/kernels/simd/narrow.h"

namespace tn {
namespace {

#define TN_INLINED __attribute__((always_inline))

// ---- blocks ----

// Eight registers: as many as functions take in registers.
template <class V>
struct Block {
  V y0, y1, y2, y3, y4, y5, y6, y7;
};

// What is done to a block: all of it, its first register, or the first few elements of that.
template <class V>
struct Whole {
  static constexpr size_t kElements = 8 * kLanes<V>;

  template <class F>
  static TN_INLINE Block<V> map(Block<V> y, F f) {
    return {f(y.y0, 0), f(y.y1, 1), f(y.y2, 2), f(y.y3, 3), f(y.y4, 4), f(y.y5, 5), f(y.y6, 6), f(y.y7, 7)};
  }
  static TN_INLINE V load(const Scalar<V>* p, size_t /*elements*/) { return tn::load<V>(p); }
  static TN_INLINE void store(Scalar<V>* p, V y, size_t) { tn::store(p, y); }
  static TN_INLINE V sum(Block<V> y, size_t) {
    return ((y.y0 + y.y1) + (y.y2 + y.y3)) + ((y.y4 + y.y5) + (y.y6 + y.y7));
  }
};

template <class V>
struct Single {
  static constexpr size_t kElements = kLanes<V>;

  template <class F>
  static TN_INLINE Block<V> map(Block<V> y, F f) {
    y.y0 = f(y.y0, 0);
    return y;
  }
  static TN_INLINE V load(const Scalar<V>* p, size_t /*elements*/) { return tn::load<V>(p); }
  static TN_INLINE void store(Scalar<V>* p, V y, size_t) { tn::store(p, y); }
  static TN_INLINE V sum(Block<V> y, size_t) { return y.y0; }
};

template <class V>
struct Some : Single<V> {
  static TN_INLINE V load(const Scalar<V>* p, size_t n) { return load_some<V>(p, n); }
  static TN_INLINE void store(Scalar<V>* p, V y, size_t n) { store_some(p, y, n); }
  static TN_INLINE V sum(Block<V> y, size_t n) {
    V some{};
    for (size_t i = 0; i < n; ++i) some[i] = y.y0[i];
    return some;
  }
};

// ---- steps ----

template <class V>
struct Run {
  char* const* at;
  size_t n;  // elements
  V total;
};

// Of the block y that begins at element i.
#define TN_STEP const ChainStep *s, Run<V>&run, size_t i, V y0, V y1, V y2, V y3, V y4, V y5, V y6, V y7
#define TN_BLOCK \
  Block<V> { y0, y1, y2, y3, y4, y5, y6, y7 }
template <class V>
using Step = void (*)(TN_STEP);

template <class V, class Part>
struct Steps {
  static const Step<V> table[kChainOps][2];  // [operation][b is a scalar]
};

template <class V, class Part>
TN_INLINE void go_to(const ChainStep* s, Run<V>& run, size_t i, Block<V> y) {
  Steps<V, Part>::table[int(s->op)][s->scalar](s, run, i, y.y0, y.y1, y.y2, y.y3, y.y4, y.y5, y.y6, y.y7);
}

template <class V>
TN_INLINE Scalar<V>* operand(const ChainStep* s, const Run<V>& run) {
  return reinterpret_cast<Scalar<V>*>(run.at[s->slot]);
}

template <class V, class Part, class Op>
void with_vector(TN_STEP) {
  const Scalar<V>* b = operand(s, run) + i;
  const size_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED { return Op::of(y, Part::load(b + k * kLanes<V>, n)); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op>
void with_scalar(TN_STEP) {
  const V b = splat<V>(*operand(s, run));
  auto f = [=](V y, int) TN_INLINED { return Op::of(y, b); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op>
void alone(TN_STEP) {
  auto f = [](V y, int) TN_INLINED { return Op::of(y); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part>
void store_step(TN_STEP) {
  Scalar<V>* b = operand(s, run) + i;
  const size_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED {
    Part::store(b + k * kLanes<V>, y, n);
    return y;
  };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part>
void sum_step(TN_STEP) {
  run.total += Part::sum(TN_BLOCK, run.n - i);
  go_to<V, Part>(s + 1, run, i, TN_BLOCK);
}

template <class V, class Part>
void end_step(const ChainStep*, Run<V>&, size_t, V, V, V, V, V, V, V, V) {}

// By halves, the second in a function of its own: compilers keep half a block and constants in registers.
TN_INLINE void exp_of_half(F64& a, F64& b, F64& c, F64& d) {
  F64 y[4] = {a, b, c, d};
  exp_ordinary(y);
  a = y[0], b = y[1], c = y[2], d = y[3];
}
TN_INLINE void exp_of_half(F32& a, F32& b, F32& c, F32& d) {
  a = narrow_exp_ordinary(a), b = narrow_exp_ordinary(b);
  c = narrow_exp_ordinary(c), d = narrow_exp_ordinary(d);
}
TN_INLINE F64 exp_of(F64 y) { return exp_as_each(y); }
TN_INLINE F32 exp_of(F32 y) { return narrow_exp(y); }

template <class V>
constexpr Scalar<V> kOrdinaryExp = sizeof(Scalar<V>) == 8 ? Scalar<V>(708) : Scalar<V>(kNarrowOrdinaryExp);

template <class V>
TN_INLINE bool is_ordinary(Block<V> y) {
  constexpr Scalar<V> limit = kOrdinaryExp<V>;
  return !any(~((abs(y.y0) < limit) & (abs(y.y1) < limit) & (abs(y.y2) < limit) & (abs(y.y3) < limit) &
                (abs(y.y4) < limit) & (abs(y.y5) < limit) & (abs(y.y6) < limit) & (abs(y.y7) < limit)));
}

template <class V, class Part>
TN_SHARED void exp_of_each(TN_STEP) {
  auto f = [](V y, int) TN_INLINED { return exp_of(y); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V>
TN_SHARED void exp_of_second_half(TN_STEP) {
  exp_of_half(y4, y5, y6, y7);
  go_to<V, Whole<V>>(s + 1, run, i, TN_BLOCK);
}

template <class V>
void exp_of_block(TN_STEP) {
  if (!is_ordinary(TN_BLOCK)) [[unlikely]]
    return exp_of_each<V, Whole<V>>(s, run, i, y0, y1, y2, y3, y4, y5, y6, y7);
  exp_of_half(y0, y1, y2, y3);
  exp_of_second_half<V>(s, run, i, y0, y1, y2, y3, y4, y5, y6, y7);
}

#define TN_OPERATION(Name, parameters, result) \
  struct Name {                                \
    template <class V>                         \
    static TN_INLINE V of parameters {         \
      return result;                           \
    }                                          \
  };
TN_OPERATION(Load, (V, V b), b)
TN_OPERATION(Add, (V y, V b), y + b)
TN_OPERATION(Subtract, (V y, V b), y - b)
TN_OPERATION(Minus, (V y, V b), b - y)
TN_OPERATION(Multiply, (V y, V b), y* b)
TN_OPERATION(Divide, (V y, V b), y / b)
TN_OPERATION(Divides, (V y, V b), b / y)
TN_OPERATION(Square, (V y), y* y)
TN_OPERATION(Negative, (V y), -y)
TN_OPERATION(Abs, (V y), abs(y))
TN_OPERATION(Sqrt, (V y), sqrt(y))
#undef TN_OPERATION

// In the order of ChainOp.
template <class V, class Part>
const Step<V> Steps<V, Part>::table[kChainOps][2] = {
    {end_step<V, Part>},
    {with_vector<V, Part, Load>},
    {store_step<V, Part>},
    {sum_step<V, Part>},
    {with_vector<V, Part, Add>, with_scalar<V, Part, Add>},
    {with_vector<V, Part, Subtract>, with_scalar<V, Part, Subtract>},
    {with_vector<V, Part, Minus>, with_scalar<V, Part, Minus>},
    {with_vector<V, Part, Multiply>, with_scalar<V, Part, Multiply>},
    {with_vector<V, Part, Divide>, with_scalar<V, Part, Divide>},
    {with_vector<V, Part, Divides>, with_scalar<V, Part, Divides>},
    {alone<V, Part, Square>},
    {alone<V, Part, Negative>},
    {alone<V, Part, Abs>},
    {alone<V, Part, Sqrt>},
    {Part::kElements == kLanes<V> ? exp_of_each<V, Part> : exp_of_block<V>},
};

// ---- runs ----

template <class V>
TN_INLINE Scalar<V> sum_of_lanes(V v) {
  Scalar<V> lane[kLanes<V>];
  store(lane, v);
  for (int half = kLanes<V> / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lane[i] += lane[i + half];
  return lane[0];
}

// From element i on while there are whole parts, `most` at most.
template <class V, class Part>
TN_INLINE size_t run_parts(const ChainStep* first, Run<V>& run, size_t i, size_t most) {
  for (; most > 0 && i + Part::kElements <= run.n; --most, i += Part::kElements)
    go_to<V, Part>(first, run, i, Block<V>{});
  return i;
}

// Sums are sixteen blocks deep, then as deep as there are sixteens.
template <class V>
void chain(const ChainStep* first, char* const* at, size_t n) {
  Run<V> run{at, n, {}};
  V total{};
  size_t i = 0;
  while (i + Whole<V>::kElements <= n) {
    run.total = V{};
    i = run_parts<V, Whole<V>>(first, run, i, 16);
    total += run.total;
  }
  run.total = total;
  i = run_parts<V, Single<V>>(first, run, i, 8);
  if (i < n) go_to<V, Some<V>>(first, run, i, Block<V>{});
  for (const ChainStep* s = first; s->op != ChainOp::end; ++s)
    if (s->op == ChainOp::sum) *operand(s, run) = sum_of_lanes(run.total);
}

}  // namespace

void TN_TARGET::fill_chains(KernelTable& table) {
  table.chain[0] = chain<F32>;
  table.chain[1] = chain<F64>;
}

}  // namespace tn
