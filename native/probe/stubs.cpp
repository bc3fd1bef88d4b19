// One exported stub for every spelling of every routine in routines.def, and the trampoline that they share.
//
// A stub does not know its routine's prototype and need not. The trampoline saves what the System V ABI for
// x86-64 passes in registers, lets the first hook read the integers that it wants, copies the arguments on
// the stack for the real function, restores the registers and calls. About 600 typed routines with up to 30
// arguments each would be as many prototypes to get right; here a mistake in the table costs a wrong shape,
// never a wrong result. The copy takes 40 words, more than any routine has on the stack; reading too far is
// harmless, because what lies there are the caller's own frames. Having a frame of our own, rather than
// exchanging the return address, keeps unwinding, longjmp and shadow stacks working.
#include "probe/stubs.h"

namespace tn::probe {

// The types that there are of a routine: T(letters, LETTERS, ...) for each.
#define S_D(...) T(s, S, __VA_ARGS__) T(d, D, __VA_ARGS__)
#define C_Z(...) T(c, C, __VA_ARGS__) T(z, Z, __VA_ARGS__)
#define S_D_C_Z(...) S_D(__VA_ARGS__) C_Z(__VA_ARGS__)
#define S_D_CS_ZD(...) S_D(__VA_ARGS__) T(cs, CS, __VA_ARGS__) T(zd, ZD, __VA_ARGS__)
#define S_D_C_Z_CS_ZD(...) S_D_CS_ZD(__VA_ARGS__) C_Z(__VA_ARGS__)
#define S_D_SC_DZ(...) S_D(__VA_ARGS__) T(sc, SC, __VA_ARGS__) T(dz, DZ, __VA_ARGS__)
#define IS_ID_IC_IZ(...) \
  T(is, IS, __VA_ARGS__) T(id, ID, __VA_ARGS__) T(ic, IC, __VA_ARGS__) T(iz, IZ, __VA_ARGS__)
#define D_SD(...) T(d, D, __VA_ARGS__) T(sd, SD, __VA_ARGS__)

// Rows in the order of the file.
enum Order {
#define ROUTINE(name, NAME, types, ...) row_##name##_##types,
#include "probe/routines.def"
#undef ROUTINE
};

template <int... Positions>
constexpr Routine routine(int lwork) {
  return {static_cast<uint8_t>(lwork), sizeof...(Positions), {Positions...}};
}

#define ROUTINE(name, NAME, types, kind, lwork, ...) routine<__VA_ARGS__>(lwork),
const Routine kRoutines[] = {
#include "probe/routines.def"
};
#undef ROUTINE

#define T(letters, LETTERS, name, row) {#letters #name, row},
#define ROUTINE(name, NAME, types, ...) types(name, row_##name##_##types)
const Name kNames[] = {
#include "probe/routines.def"
};
#undef ROUTINE
#undef T
const int kNameCount = sizeof kNames / sizeof kNames[0];

}  // namespace tn::probe

#ifndef __x86_64__
#error "the stubs are written for x86-64: CMakeLists.txt builds the probe nowhere else"
#endif

#define T(letters, LETTERS, name, NAME, kind) "typed_" #kind " " #letters #name ", " #LETTERS #NAME "\n"
#define ROUTINE(name, NAME, types, kind, ...) types(name, NAME, kind)

asm(R"(
  .text

# A stub, and its Entry.
.macro stub symbol, interface, wide
  .balign 16
  .globl \symbol
  .type \symbol, @function
\symbol:
  lea 9f(%rip), %r11
  jmp taenite_probe_trampoline
  .size \symbol, . - \symbol
  .pushsection .data.taenite_probe, "aw"
  .balign 8
9:
  .quad 0
  .long \symbol - .
  .short name
  .byte \interface, \wide
  .popsection
.endm

# What compilers and libraries make of a Fortran name.
.macro fortran_spellings symbol
  stub \symbol, 0, 0
  stub \symbol\()_, 0, 0
  stub \symbol\()_64, 0, 1
  stub \symbol\()_64_, 0, 1
  stub \symbol\()64_, 0, 1
.endm
.macro fortran typed, TYPED
  fortran_spellings \typed
  fortran_spellings scipy_\typed
  fortran_spellings \TYPED
.endm

.macro c_spellings symbol, interface
  stub \symbol, \interface, 0
  stub \symbol\()_64, \interface, 1
  stub \symbol\()64_, \interface, 1
.endm
.macro c_function symbol, interface
  c_spellings \symbol, \interface
  c_spellings scipy_\symbol, \interface
.endm

.macro typed_F typed, TYPED
  fortran \typed, \TYPED
  .set name, name + 1
.endm
.macro typed_C typed, TYPED
  c_function cblas_\typed, 1
  .set name, name + 1
.endm
.macro typed_V typed, TYPED
  c_function cblas_\typed, 1
  typed_F \typed, \TYPED
.endm
.macro typed_M typed, TYPED
  c_function cblas_\typed, 2
  typed_F \typed, \TYPED
.endm
.macro typed_L typed, TYPED
  c_function LAPACKE_\typed, 3
  typed_F \typed, \TYPED
.endm

  .set name, 0
)"
#include "probe/routines.def"
    R"(
# Spare stubs, 2048 of 16 bytes, which taenite_probe_wrap hands out.
  .balign 16
  .hidden taenite_probe_slots, taenite_probe_slot_entries
  .globl taenite_probe_slots, taenite_probe_slot_entries
taenite_probe_slots:
  .pushsection .data.taenite_probe, "aw"
  .balign 8
taenite_probe_slot_entries:
  .popsection
  .rept 2048
  .balign 16
8:
  lea 9f(%rip), %r11
  jmp taenite_probe_trampoline
  .pushsection .data.taenite_probe, "aw"
9:
  .quad 0
  .long 8b - .
  .short 0
  .byte 0, 0
  .popsection
  .endr

# Saves the arguments in registers in a Frame of 224 bytes, at 0(%rsp); r11 holds the Entry.
  .hidden taenite_probe_trampoline
  .type taenite_probe_trampoline, @function
taenite_probe_trampoline:
  .cfi_startproc
  push %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  mov %rsp, %rbp
  .cfi_def_cfa_register %rbp
  sub $224, %rsp
  mov %rdi, 0(%rsp)
  mov %rsi, 8(%rsp)
  mov %rdx, 16(%rsp)
  mov %rcx, 24(%rsp)
  mov %r8, 32(%rsp)
  mov %r9, 40(%rsp)
  mov %rax, 48(%rsp)
  mov %r10, 56(%rsp)
  movaps %xmm0, 64(%rsp)
  movaps %xmm1, 80(%rsp)
  movaps %xmm2, 96(%rsp)
  movaps %xmm3, 112(%rsp)
  movaps %xmm4, 128(%rsp)
  movaps %xmm5, 144(%rsp)
  movaps %xmm6, 160(%rsp)
  movaps %xmm7, 176(%rsp)
  mov %rsp, %rdi
  mov %r11, %rsi
  lea 16(%rbp), %rdx
  mov 8(%rbp), %rcx
  call taenite_probe_enter
  mov %rax, %r11
  cmpq $0, 192(%rsp)
  je 1f
  sub $320, %rsp
  lea 16(%rbp), %rsi
  mov %rsp, %rdi
  mov $40, %ecx
  rep movsq
1:
  mov -224(%rbp), %rdi
  mov -216(%rbp), %rsi
  mov -208(%rbp), %rdx
  mov -200(%rbp), %rcx
  mov -192(%rbp), %r8
  mov -184(%rbp), %r9
  mov -176(%rbp), %rax
  mov -168(%rbp), %r10
  movaps -160(%rbp), %xmm0
  movaps -144(%rbp), %xmm1
  movaps -128(%rbp), %xmm2
  movaps -112(%rbp), %xmm3
  movaps -96(%rbp), %xmm4
  movaps -80(%rbp), %xmm5
  movaps -64(%rbp), %xmm6
  movaps -48(%rbp), %xmm7
  cmpq $0, -32(%rbp)
  jne 2f
  .cfi_remember_state
  leave
  .cfi_def_cfa %rsp, 8
  jmp *%r11
  .cfi_restore_state
2:
  call *%r11
  mov %rax, -224(%rbp)
  mov %rdx, -208(%rbp)
  movaps %xmm0, -160(%rbp)
  movaps %xmm1, -144(%rbp)
  lea -224(%rbp), %rdi
  call taenite_probe_leave
  mov -224(%rbp), %rax
  mov -208(%rbp), %rdx
  movaps -160(%rbp), %xmm0
  movaps -144(%rbp), %xmm1
  leave
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size taenite_probe_trampoline, . - taenite_probe_trampoline
)");
