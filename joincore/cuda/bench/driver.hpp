// The CUDA driver, loaded at run time so that the harness links where there is none.
#pragma once
#include <cuda.h>
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <string>

namespace driver {

[[noreturn]] inline void die(const std::string& what) {
  fprintf(stderr, "join-bench: %s\n", what.c_str());
  exit(1);
}

inline void* symbol(const char* name) {
  static void* lib = [] {
    void* l = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
    if (!l) die(std::string("could not load the CUDA driver: ") + dlerror());
    return l;
  }();
  void* s = dlsym(lib, name);
  if (!s) die(std::string("the CUDA driver has no ") + name);
  return s;
}

inline void check(CUresult r, const char* what) {
  if (r == CUDA_SUCCESS) return;
  const char* text = nullptr;
  auto f = reinterpret_cast<decltype(&::cuGetErrorString)>(symbol("cuGetErrorString"));
  f(r, &text);
  die(std::string(what) + ": " + (text ? text : "unknown error"));
}

#define GJ_TEXT2(x) #x
#define GJ_TEXT(x) GJ_TEXT2(x)
// Calls a driver function and ends the program on an error.
#define CU(f, ...) ::driver::check(reinterpret_cast<decltype(&::f)>(::driver::symbol(GJ_TEXT(f)))(__VA_ARGS__), GJ_TEXT(f))

struct Kernel {
  CUfunction function = nullptr;
  unsigned threads = 0, blocks = 0, shared = 0, rows = 0, fan = 0;
};

class Module {
 public:
  explicit Module(const std::string& path) {
    FILE* f = fopen(path.c_str(), "rb");
    if (!f) die("could not open " + path);
    std::string image;
    char buffer[65536];
    for (size_t n; (n = fread(buffer, 1, sizeof buffer, f)) > 0;) image.append(buffer, n);
    fclose(f);
    CU(cuModuleLoadData, &module_, image.data());
  }
  CUfunction function(const std::string& name) const {
    CUfunction f;
    check(reinterpret_cast<decltype(&::cuModuleGetFunction)>(symbol("cuModuleGetFunction"))(&f, module_, name.c_str()), name.c_str());
    return f;
  }
  // A kernel and the launch facts beside it; more than 48 KB of shared memory are declared.
  Kernel kernel(const std::string& name, unsigned shared = 0) const {
    Kernel k;
    k.function = function(name);
    CUdeviceptr at;
    size_t bytes;
    check(reinterpret_cast<decltype(&::cuModuleGetGlobal)>(symbol(GJ_TEXT(cuModuleGetGlobal)))(&at, &bytes, module_, (name + "_launch").c_str()),
          name.c_str());
    unsigned long long facts[5];
    CU(cuMemcpyDtoH, facts, at, sizeof facts);
    k.threads = facts[0], k.blocks = facts[1], k.shared = facts[2] ? facts[2] : shared, k.rows = facts[3], k.fan = facts[4];
    if (k.shared > 32 * 1024) CU(cuFuncSetAttribute, k.function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)k.shared);
    return k;
  }

 private:
  CUmodule module_;
};

// Every parameter is 8 bytes.
template <class... A>
void launch(CUfunction f, unsigned grid, unsigned threads, unsigned shared, CUstream stream, A... a) {
  unsigned long long value[] = {(unsigned long long)a...};
  void* parameter[sizeof...(a)];
  for (size_t i = 0; i < sizeof...(a); i++) parameter[i] = &value[i];
  CU(cuLaunchKernel, f, grid, 1, 1, threads, 1, 1, shared, stream, parameter, nullptr);
}

}  // namespace driver
