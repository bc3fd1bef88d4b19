# taenite_kernel_objects(out): compiles native/kernels/simd once per SIMD target as object libraries and sets `out`
# to their objects plus the dispatcher. No link-time optimisation: a function must never move to another target.

set(TN_KERNEL_SOURCES arithmetic.cpp move.cpp permute.cpp reduce.cpp real_math.cpp complex_math.cpp chain.cpp
    small_matrices.cpp small_lu.cpp exact_matmul.cpp gemm.cpp gemv.cpp peak.cpp)
list(TRANSFORM TN_KERNEL_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/../native/kernels/simd/)
get_filename_component(TN_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

set(TN_KERNEL_FLAGS -O3 -fvisibility=hidden -ffp-contract=off -fno-math-errno -fno-trapping-math -fwrapv
                    -fno-exceptions -fno-rtti -fno-lto -Wall -Wextra -Wno-psabi -Wno-ignored-attributes
                    -Wno-maybe-uninitialized)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
  list(APPEND TN_KERNEL_FLAGS --param=vect-epilogues-nomask=0) # half the code, and tiles are long
endif()
set(TN_TARGET_FLAGS_generic "")
set(TN_TARGET_FLAGS_avx2 -mavx2 -mfma)
set(TN_TARGET_FLAGS_avx512 -mavx2 -mfma -mavx512f -mavx512dq -mavx512bw -mavx512vl
                           -mprefer-vector-width=512 -Wno-uninitialized) # GCC bug 105593 in its own intrinsics

function(taenite_kernel_target target)
  set(library tn_kernels_${target})
  add_library(${library} OBJECT ${TN_KERNEL_SOURCES})
  target_include_directories(${library} PRIVATE ${TN_ROOT})
  target_compile_features(${library} PRIVATE cxx_std_20)
  target_compile_definitions(${library} PRIVATE TN_TARGET=${target})
  target_compile_options(${library} PRIVATE ${TN_KERNEL_FLAGS} ${TN_TARGET_FLAGS_${target}})
  set_target_properties(${library} PROPERTIES POSITION_INDEPENDENT_CODE ON INTERPROCEDURAL_OPTIMIZATION OFF
                                              CXX_EXTENSIONS ON)
endfunction()

function(taenite_kernel_objects out)
  set(targets generic)
  set(dispatch ${TN_ROOT}/native/kernels/dispatch.cpp)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    list(APPEND targets avx2 avx512)
    set_property(SOURCE ${dispatch} APPEND PROPERTY COMPILE_DEFINITIONS TN_HAVE_X86_TARGETS)
  endif()
  set(objects ${dispatch})
  foreach(target IN LISTS targets)
    taenite_kernel_target(${target})
    list(APPEND objects $<TARGET_OBJECTS:tn_kernels_${target}>)
  endforeach()
  set(${out} ${objects} PARENT_SCOPE)
endfunction()
