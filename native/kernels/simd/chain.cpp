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

// Parts: what is done to a block. `n` elements from p on belong to the operand; it may be negative.
template <class V>
struct Whole {
  static constexpr bool kOneRegister = false;

  template <class F>
  static TN_INLINE Block<V> map(Block<V> y, F f) {
    return {f(y.y0, 0), f(y.y1, 1), f(y.y2, 2), f(y.y3, 3), f(y.y4, 4), f(y.y5, 5), f(y.y6, 6), f(y.y7, 7)};
  }
  static TN_INLINE V load(const Scalar<V>* p, ptrdiff_t /*n*/) { return tn::load<V>(p); }
  static TN_INLINE void store(Scalar<V>* p, V y, ptrdiff_t /*n*/) { tn::store(p, y); }
  static TN_INLINE V sum(Block<V> y, ptrdiff_t /*n*/) {
    return ((y.y0 + y.y1) + (y.y2 + y.y3)) + ((y.y4 + y.y5) + (y.y6 + y.y7));
  }
};

// The first elements of a block.
template <class V>
struct Few : Whole<V> {
  using T = Scalar<V>;
  static constexpr ptrdiff_t L = kLanes<V>;

  static TN_INLINE Mask<V> first_lanes(ptrdiff_t n) {
    Mask<V> lane;
    for (int i = 0; i < L; ++i) lane[i] = i;
    return lane < Mask<V>{} + Scalar<Mask<V>>(n);
  }
  // Ones where there is nothing, as in load_some.
  static TN_INLINE V load(const T* p, ptrdiff_t n) {
#if defined(__AVX2__)
    const Mask<V> m = first_lanes(n);
    if constexpr (sizeof(V) == 32 && sizeof(T) == 8)
      return select<V>(m, (V)_mm256_maskload_pd(p, (__m256i)m), splat<V>(1));
    if constexpr (sizeof(V) == 32 && sizeof(T) == 4)
      return select<V>(m, (V)_mm256_maskload_ps(p, (__m256i)m), splat<V>(1));
#endif
    return n >= L ? tn::load<V>(p) : load_some<V>(p, n > 0 ? n : 0);
  }
  static TN_INLINE void store(T* p, V y, ptrdiff_t n) {
    if (n >= L)
      tn::store(p, y);
    else
      for (ptrdiff_t i = 0; i < n; ++i) p[i] = y[i];
  }
  static TN_INLINE V sum(Block<V> y, ptrdiff_t n) {
    auto f = [=](V y, int k) TN_INLINED { return select<V>(first_lanes(n - k * L), y, V{}); };
    return Whole<V>::sum(Whole<V>::map(y, f), n);
  }
};

template <class V>
struct Single : Whole<V> {
  static constexpr bool kOneRegister = true;

  template <class F>
  static TN_INLINE Block<V> map(Block<V> y, F f) {
    y.y0 = f(y.y0, 0);
    return y;
  }
  static TN_INLINE V sum(Block<V> y, ptrdiff_t /*n*/) { return y.y0; }
};

// ---- steps ----

template <class V>
struct Run {
  char* const* at;
  ptrdiff_t n;  // elements
  V total;
};

// Of the block y that begins at element i.
#define TN_STEP const ChainStep *s, Run<V>&run, ptrdiff_t i, V y0, V y1, V y2, V y3, V y4, V y5, V y6, V y7
#define TN_BLOCK \
  Block<V> { y0, y1, y2, y3, y4, y5, y6, y7 }
template <class V>
using Step = void (*)(TN_STEP);

template <class V, class Part>
struct Steps {
  static const Step<V> table[kChainCodes];
};

template <class V, class Part>
TN_INLINE void go_to(const ChainStep* s, Run<V>& run, ptrdiff_t i, Block<V> y) {
  Steps<V, Part>::table[s->code](s, run, i, y.y0, y.y1, y.y2, y.y3, y.y4, y.y5, y.y6, y.y7);
}

template <class V>
TN_INLINE Scalar<V>* address(int slot, const Run<V>& run) {
  return reinterpret_cast<Scalar<V>*>(run.at[slot]);
}

template <class V, class Part, class Op>
void with_vector(TN_STEP) {
  const Scalar<V>* b = address(s->slot, run) + i;
  const ptrdiff_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED { return Op::of(y, Part::load(b + k * kLanes<V>, n - k * kLanes<V>)); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op>
void with_scalar(TN_STEP) {
  const V b = splat<V>(*address(s->slot, run));
  auto f = [=](V y, int) TN_INLINED { return Op::of(y, b); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op, class Inner>
void with_vectors(TN_STEP) {
  const Scalar<V>*a = address(s->slot, run) + i, *b = address(s->second, run) + i;
  const ptrdiff_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED {
    return Op::of(y, Inner::of(Part::load(a + k * kLanes<V>, n - k * kLanes<V>),
                               Part::load(b + k * kLanes<V>, n - k * kLanes<V>)));
  };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op, class Inner>
void with_vector_and_scalar(TN_STEP) {
  const Scalar<V>* a = address(s->slot, run) + i;
  const V b = splat<V>(*address(s->second, run));
  const ptrdiff_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED {
    return Op::of(y, Inner::of(Part::load(a + k * kLanes<V>, n - k * kLanes<V>), b));
  };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Op>
void alone(TN_STEP) {
  auto f = [](V y, int) TN_INLINED { return Op::of(y); };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part, class Range = Part>
void store_step(TN_STEP) {
  Scalar<V>* b = address(s->slot, run) + i;
  const ptrdiff_t n = run.n - i;
  auto f = [=](V y, int k) TN_INLINED {
    Range::store(b + k * kLanes<V>, y, n - k * kLanes<V>);
    return y;
  };
  go_to<V, Part>(s + 1, run, i, Part::map(TN_BLOCK, f));
}

template <class V, class Part>
void sum_step(TN_STEP) {
  run.total += Part::sum(TN_BLOCK, run.n - i);
  go_to<V, Part>(s + 1, run, i, TN_BLOCK);
}

template <class V>
void end_step(const ChainStep*, Run<V>&, ptrdiff_t, V, V, V, V, V, V, V, V) {}

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

template <class V, class Part>
TN_SHARED void exp_of_second_half(TN_STEP) {
  exp_of_half(y4, y5, y6, y7);
  go_to<V, Part>(s + 1, run, i, TN_BLOCK);
}

template <class V, class Part>
void exp_of_block(TN_STEP) {
  if (!is_ordinary(TN_BLOCK)) [[unlikely]]
    return exp_of_each<V, Part>(s, run, i, y0, y1, y2, y3, y4, y5, y6, y7);
  exp_of_half(y0, y1, y2, y3);
  exp_of_second_half<V, Part>(s, run, i, y0, y1, y2, y3, y4, y5, y6, y7);
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

// In the order of chain_code.
#define TN_WITH(Op) with_vector<V, Part, Op>, with_scalar<V, Part, Op>
#define TN_ALONE(step) step, nullptr
#define TN_NESTED(Op)                                                                 \
  with_vectors<V, Part, Op, Multiply>, with_vector_and_scalar<V, Part, Op, Multiply>, \
      with_vectors<V, Part, Op, Add>, with_vector_and_scalar<V, Part, Op, Add>,       \
      with_vectors<V, Part, Op, Subtract>, with_vector_and_scalar<V, Part, Op, Subtract>
template <class V, class Part>
const Step<V> Steps<V, Part>::table[kChainCodes] = {
    TN_ALONE(end_step<V>),
    TN_ALONE((with_vector<V, Part, Load>)),
    TN_ALONE((store_step<V, Part>)),
    TN_ALONE((store_step<V, Part, Whole<V>>)),
    TN_ALONE((sum_step<V, Part>)),
    TN_WITH(Add),
    TN_WITH(Subtract),
    TN_WITH(Minus),
    TN_WITH(Multiply),
    TN_WITH(Divide),
    TN_WITH(Divides),
    TN_ALONE((alone<V, Part, Square>)),
    TN_ALONE((alone<V, Part, Negative>)),
    TN_ALONE((alone<V, Part, Abs>)),
    TN_ALONE((alone<V, Part, Sqrt>)),
    TN_ALONE((Part::kOneRegister ? exp_of_each<V, Part> : exp_of_block<V, Part>)),
    TN_NESTED(Add),
    TN_NESTED(Subtract),
    TN_NESTED(Minus),
    TN_NESTED(Multiply),
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

// Sums are sixteen blocks deep, then as deep as there are sixteens.
template <class V>
TN_INLINE ptrdiff_t run_blocks(const ChainStep* first, Run<V>& run) {
  constexpr ptrdiff_t size = 8 * kLanes<V>, deep = 16 * size;
  V total{};
  ptrdiff_t i = 0;
  while (i + size <= run.n) {
    run.total = V{};
    for (const ptrdiff_t end = i + deep; i < end && i + size <= run.n; i += size)
      go_to<V, Whole<V>>(first, run, i, Block<V>{});
    total += run.total;
  }
  run.total = total;
  return i;
}

template <class V>
void chain(const ChainStep* first, char* const* at, size_t n) {
  constexpr ptrdiff_t L = kLanes<V>;
  Run<V> run{at, ptrdiff_t(n), {}};
  ptrdiff_t i = run_blocks(first, run);
  const ptrdiff_t rest = run.n - i;
  if (rest == L || rest == 2 * L)
    for (; i < run.n; i += L) go_to<V, Single<V>>(first, run, i, Block<V>{});
  else if (rest > 0)
    go_to<V, Few<V>>(first, run, i, Block<V>{});
  for (const ChainStep* s = first; s->code != chain_code(ChainOp::end); ++s)
    if (s->code == chain_code(ChainOp::sum)) *address(s->slot, run) = sum_of_lanes(run.total);
}

}  // namespace

void TN_TARGET::fill_chains(KernelTable& table) {
  table.chain[0] = chain<F32>;
  table.chain[1] = chain<F64>;
}

}  // namespace tn
