//go:build cuda

package driver

/*
#include <cuda.h>
#include <linux/mempolicy.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// Functions that gorgonia.org/cu lacks. Each makes the context current on its thread,
// so that callers need not lock a thread.

#define MAX_PARAMETERS 64

#define TRY(call)                        \
  do {                                   \
    CUresult r = (call);                 \
    if (r != CUDA_SUCCESS) return r;     \
  } while (0)

static CUresult gj_launch(CUcontext context, CUfunction f, unsigned grid, unsigned threads, unsigned shared, CUstream stream,
                          uint64_t *value, int count) {
  void *parameter[MAX_PARAMETERS];
  if (count > MAX_PARAMETERS) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < count; i++) parameter[i] = &value[i];
  TRY(cuCtxSetCurrent(context));
  return cuLaunchKernel(f, grid, 1, 1, threads, 1, 1, shared, stream, parameter, NULL);
}

// gj_compile compiles PTX to machine code for the context's device. *code is allocated
// by malloc. log gets the compiler's messages if it fails.
static CUresult gj_compile(CUcontext context, const char *ptx, size_t length, void **code, size_t *bytes, char *log, size_t log_bytes) {
  CUlinkState state;
  CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
  void *value[] = {log, (void *)log_bytes};
  void *made;
  *code = NULL;
  log[0] = 0;
  TRY(cuCtxSetCurrent(context));
  TRY(cuLinkCreate(2, option, value, &state));
  CUresult r = cuLinkAddData(state, CU_JIT_INPUT_PTX, (void *)ptx, length, "", 0, NULL, NULL);
  if (r == CUDA_SUCCESS) r = cuLinkComplete(state, &made, bytes);
  if (r == CUDA_SUCCESS) {
    *code = malloc(*bytes);
    if (*code == NULL) r = CUDA_ERROR_OUT_OF_MEMORY;
    else memcpy(*code, made, *bytes);
  }
  cuLinkDestroy(state);
  return r;
}

static CUresult gj_allow_shared(CUcontext context, CUfunction f, int bytes) {
  TRY(cuCtxSetCurrent(context));
  return cuFuncSetAttribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, bytes);
}

#define MAX_NODES 1024

// gj_pinned allocates page-locked memory, preferably of a NUMA node; -1: of any. Where the
// system refuses that (containers), memory is of any node.
static CUresult gj_pinned(CUcontext context, size_t bytes, int node, void **memory) {
  TRY(cuCtxSetCurrent(context));
  int mode, changed = 0;
  unsigned long before[MAX_NODES / 64] = {0}, nearest[MAX_NODES / 64] = {0};
  if (node >= 0 && node < MAX_NODES - 1 && syscall(SYS_get_mempolicy, &mode, before, (unsigned long)MAX_NODES, NULL, 0ul) == 0) {
    nearest[node / 64] = 1ul << node % 64;
    changed = syscall(SYS_set_mempolicy, MPOL_PREFERRED, nearest, (unsigned long)MAX_NODES) == 0;
  }
  CUresult r = cuMemHostAlloc(memory, bytes, CU_MEMHOSTALLOC_PORTABLE);
  if (changed) syscall(SYS_set_mempolicy, mode, before, (unsigned long)MAX_NODES);
  return r;
}

static CUresult gj_register(CUcontext context, void *memory, size_t bytes, CUdeviceptr *device) {
  TRY(cuCtxSetCurrent(context));
  TRY(cuMemHostRegister(memory, bytes, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP));
  CUresult r = cuMemHostGetDevicePointer(device, memory, 0);
  if (r != CUDA_SUCCESS) cuMemHostUnregister(memory);
  return r;
}

static CUresult gj_unregister(CUcontext context, void *memory) {
  TRY(cuCtxSetCurrent(context));
  return cuMemHostUnregister(memory);
}

#define MAX_DEVICES 64

// gj_reserve maps at least *bytes of the first device's memory for all of the given
// devices, and sets *bytes and *base. If the system allows it, the memory can be
// shared with other processes.
static CUresult gj_reserve(CUcontext context, const int *device, int devices, size_t *bytes, CUdeviceptr *base, CUmemGenericAllocationHandle *handle) {
  CUmemAllocationProp prop = {0};
  if (devices > MAX_DEVICES) return CUDA_ERROR_INVALID_VALUE;
  prop.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  prop.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  prop.location.id = device[0];
  prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  TRY(cuCtxSetCurrent(context));
  size_t unit;
  TRY(cuMemGetAllocationGranularity(&unit, &prop, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
  *bytes = (*bytes + unit - 1) / unit * unit;
  CUresult r = cuMemCreate(handle, *bytes, &prop, 0);
  if (r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_NOT_PERMITTED || r == CUDA_ERROR_INVALID_VALUE) {
    prop.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    r = cuMemCreate(handle, *bytes, &prop, 0);
  }
  if (r != CUDA_SUCCESS) return r;
  r = cuMemAddressReserve(base, *bytes, unit, 0, 0);
  if (r != CUDA_SUCCESS) goto created;
  r = cuMemMap(*base, *bytes, 0, *handle, 0);
  if (r != CUDA_SUCCESS) goto reserved;
  CUmemAccessDesc access[MAX_DEVICES] = {0};
  for (int i = 0; i < devices; i++) {
    access[i].location = prop.location;
    access[i].location.id = device[i];
    access[i].flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
  }
  r = cuMemSetAccess(*base, *bytes, access, devices);
  if (r == CUDA_SUCCESS) return r;
  cuMemUnmap(*base, *bytes);
reserved:
  cuMemAddressFree(*base, *bytes);
created:
  cuMemRelease(*handle);
  return r;
}

static CUresult gj_unreserve(CUcontext context, CUdeviceptr base, size_t bytes, CUmemGenericAllocationHandle handle) {
  TRY(cuCtxSetCurrent(context));
  TRY(cuMemUnmap(base, bytes));
  TRY(cuMemAddressFree(base, bytes));
  return cuMemRelease(handle);
}

// gj_revoke takes a device's access to mapped memory of another one.
static CUresult gj_revoke(CUcontext context, CUdeviceptr base, size_t bytes, int device) {
  CUmemAccessDesc access = {{CU_MEM_LOCATION_TYPE_DEVICE, device}, CU_MEM_ACCESS_FLAGS_PROT_NONE};
  TRY(cuCtxSetCurrent(context));
  return cuMemSetAccess(base, bytes, &access, 1);
}

typedef struct {
  uint64_t to, from, bytes;
} gj_copy;

// gj_copies queues copies, and records event behind them, also if one could not be queued.
static CUresult gj_copies(CUcontext context, CUstream stream, const gj_copy *copy, int count, CUevent event) {
  CUresult result = CUDA_SUCCESS;
  TRY(cuCtxSetCurrent(context));
  for (int i = 0; i < count && result == CUDA_SUCCESS; i++)
    result = cuMemcpyDtoDAsync(copy[i].to, copy[i].from, copy[i].bytes, stream);
  CUresult r = cuEventRecord(event, stream);
  return result != CUDA_SUCCESS ? result : r;
}

// What cuMemcpyBatchAsync of CUDA 13 is told of copies; headers before 12.8 lack it.
typedef struct {
  int source_order;
  struct {
    int type, id;
  } from, to;
  unsigned flags;
} gj_copy_attributes;

enum { GJ_SOURCE_ORDER_STREAM = 1, GJ_OVERLAP_WITH_COMPUTE = 1 };

typedef CUresult (*gj_batch_function)(CUdeviceptr *to, CUdeviceptr *from, size_t *bytes, size_t count, gj_copy_attributes *attributes,
                                  size_t *first, size_t attributes_count, CUstream stream);

// gj_batch returns cuMemcpyBatchAsync, or NULL if the driver lacks it.
static gj_batch_function gj_batch(void) {
  static gj_batch_function batch;
  static int known;
  void *found = NULL;
  CUdriverProcAddressQueryResult result;
  if (__atomic_load_n(&known, __ATOMIC_ACQUIRE)) return batch;
  if (cuGetProcAddress("cuMemcpyBatchAsync", &found, 13000, CU_GET_PROC_ADDRESS_DEFAULT, &result) != CUDA_SUCCESS) found = NULL;
  batch = (gj_batch_function)found;
  __atomic_store_n(&known, 1, __ATOMIC_RELEASE);
  return batch;
}

// gj_copy_batch queues copies of page-locked host memory to the device, which may run in any order.
static CUresult gj_copy_batch(CUcontext context, CUstream stream, uint64_t *to, uint64_t *from, uint64_t *bytes, int count) {
  gj_copy_attributes attributes = {GJ_SOURCE_ORDER_STREAM, {0, 0}, {0, 0}, GJ_OVERLAP_WITH_COMPUTE};
  size_t first = 0;
  TRY(cuCtxSetCurrent(context));
  if (gj_batch() != NULL)
    return gj_batch()((CUdeviceptr *)to, (CUdeviceptr *)from, (size_t *)bytes, count, &attributes, &first, 1, stream);
  for (int i = 0; i < count; i++) TRY(cuMemcpyAsync(to[i], from[i], bytes[i], stream));
  return CUDA_SUCCESS;
}

static CUresult gj_query(CUcontext context, CUevent event) {
  TRY(cuCtxSetCurrent(context));
  return cuEventQuery(event);
}

static CUresult gj_stream_query(CUcontext context, CUstream stream) {
  TRY(cuCtxSetCurrent(context));
  return cuStreamQuery(stream);
}

static CUresult gj_peer(int device, int other, int *can) { return cuDeviceCanAccessPeer(can, device, other); }

static CUresult gj_bus(int device, char *text, int bytes) { return cuDeviceGetPCIBusId(text, bytes, device); }
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

const maxParameters = C.MAX_PARAMETERS

// handles of cu are structs around one unexported driver handle.

func contextHandle(c cu.CUContext) C.CUcontext  { return *(*C.CUcontext)(unsafe.Pointer(&c)) }
func functionHandle(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func eventHandle(e cu.Event) C.CUevent          { return *(*C.CUevent)(unsafe.Pointer(&e)) }
func streamHandle(s cu.Stream) C.CUstream       { return *(*C.CUstream)(unsafe.Pointer(&s)) }

func launch(c cu.CUContext, f cu.Function, grid, threads, shared int, s cu.Stream, args []uint64) error {
	return failure("cuLaunchKernel", int(C.gj_launch(contextHandle(c), functionHandle(f), C.uint(grid), C.uint(threads),
		C.uint(shared), streamHandle(s), (*C.uint64_t)(unsafe.SliceData(args)), C.int(len(args)))))
}

// compile returns machine code, and the compiler's messages if there are any.
func compile(c cu.CUContext, ptx string) (code []byte, messages string, err error) {
	var log [4096]C.char
	var made unsafe.Pointer
	var bytes C.size_t
	text := append([]byte(ptx), 0)
	err = failure("cuLinkComplete", int(C.gj_compile(contextHandle(c), (*C.char)(unsafe.Pointer(unsafe.SliceData(text))), C.size_t(len(text)),
		&made, &bytes, &log[0], C.size_t(len(log)))))
	if err != nil {
		return nil, C.GoString(&log[0]), err
	}
	defer C.free(made)
	return C.GoBytes(made, C.int(bytes)), "", nil
}

func allowShared(c cu.CUContext, f cu.Function, bytes int) error {
	return failure("cuFuncSetAttribute", int(C.gj_allow_shared(contextHandle(c), functionHandle(f), C.int(bytes))))
}

func pinned(c cu.CUContext, bytes int64, node int) (unsafe.Pointer, error) {
	var p unsafe.Pointer
	err := failure("cuMemHostAlloc", int(C.gj_pinned(contextHandle(c), C.size_t(bytes), C.int(node), &p)))
	return p, err
}

func register(c cu.CUContext, b []byte) (Ptr, error) {
	var d C.CUdeviceptr
	err := failure("cuMemHostRegister", int(C.gj_register(contextHandle(c), unsafe.Pointer(unsafe.SliceData(b)), C.size_t(len(b)), &d)))
	return Ptr(d), err
}

func unregister(c cu.CUContext, b []byte) error {
	return failure("cuMemHostUnregister", int(C.gj_unregister(contextHandle(c), unsafe.Pointer(unsafe.SliceData(b)))))
}

// mapping is device memory of the virtual memory API.
type mapping struct {
	base   Ptr
	bytes  int64
	handle C.CUmemGenericAllocationHandle
}

// reserve maps memory of the first device for all of the given devices.
func reserve(c cu.CUContext, devices []int, bytes int64) (mapping, error) {
	var base C.CUdeviceptr
	var list []C.int
	for _, d := range devices {
		list = append(list, C.int(d))
	}
	var m mapping
	n := C.size_t(bytes)
	err := failure("cuMemCreate", int(C.gj_reserve(contextHandle(c), &list[0], C.int(len(list)), &n, &base, &m.handle)))
	m.base, m.bytes = Ptr(base), int64(n)
	return m, err
}

func unreserve(c cu.CUContext, m mapping) error {
	return failure("cuMemUnmap", int(C.gj_unreserve(contextHandle(c), C.CUdeviceptr(m.base), C.size_t(m.bytes), m.handle)))
}

func revoke(c cu.CUContext, m mapping, device int) error {
	return failure("cuMemSetAccess", int(C.gj_revoke(contextHandle(c), C.CUdeviceptr(m.base), C.size_t(m.bytes), C.int(device))))
}

func copies(c cu.CUContext, s cu.Stream, list []Span, e cu.Event) error {
	return failure("cuMemcpyDtoDAsync", int(C.gj_copies(contextHandle(c), streamHandle(s),
		(*C.gj_copy)(unsafe.Pointer(unsafe.SliceData(list))), C.int(len(list)), eventHandle(e))))
}

func copyBatch(c cu.CUContext, s cu.Stream, to, from, bytes []uint64) error {
	return failure("cuMemcpyBatchAsync", int(C.gj_copy_batch(contextHandle(c), streamHandle(s),
		(*C.uint64_t)(&to[0]), (*C.uint64_t)(&from[0]), (*C.uint64_t)(&bytes[0]), C.int(len(to)))))
}

// query returns the driver's result: polling must not allocate.
func query(c cu.CUContext, e cu.Event) int { return int(C.gj_query(contextHandle(c), eventHandle(e))) }

func streamQuery(c cu.CUContext, s cu.Stream) int {
	return int(C.gj_stream_query(contextHandle(c), streamHandle(s)))
}

// Reaches reports whether kernels and copies of a device can access memory of another one, or
// its own.
func Reaches(device, other int) (bool, error) {
	if device == other {
		return true, nil
	}
	var can C.int
	err := failure("cuDeviceCanAccessPeer", int(C.gj_peer(C.int(device), C.int(other), &can)))
	return can != 0, err
}

func busID(ordinal int) (string, error) {
	var text [32]C.char
	err := failure("cuDeviceGetPCIBusId", int(C.gj_bus(C.int(ordinal), &text[0], C.int(len(text)))))
	return C.GoString(&text[0]), err
}

// Attributes that cu does not name.
const (
	computeMajor   = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
	computeMinor   = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
	multiprocessor = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
	l2Bytes        = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE)
	sharedOptin    = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
	pageableAccess = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS)
	hostRegister   = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)
	virtualMemory  = cu.DeviceAttribute(C.CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED)
)

// Results that callers distinguish.
const (
	codeOutOfMemory        = int(C.CUDA_ERROR_OUT_OF_MEMORY)
	codeNotReady           = int(C.CUDA_ERROR_NOT_READY)
	codeNotFound           = int(C.CUDA_ERROR_NOT_FOUND)
	codeInvalidValue       = int(C.CUDA_ERROR_INVALID_VALUE)
	codeECC                = int(C.CUDA_ERROR_ECC_UNCORRECTABLE)
	codeNVLink             = int(C.CUDA_ERROR_NVLINK_UNCORRECTABLE)
	codeIllegalAddress     = int(C.CUDA_ERROR_ILLEGAL_ADDRESS)
	codeLaunchTimeout      = int(C.CUDA_ERROR_LAUNCH_TIMEOUT)
	codeContextDestroyed   = int(C.CUDA_ERROR_CONTEXT_IS_DESTROYED)
	codeAssert             = int(C.CUDA_ERROR_ASSERT)
	codeHardwareStack      = int(C.CUDA_ERROR_HARDWARE_STACK_ERROR)
	codeIllegalInstruction = int(C.CUDA_ERROR_ILLEGAL_INSTRUCTION)
	codeMisaligned         = int(C.CUDA_ERROR_MISALIGNED_ADDRESS)
	codeAddressSpace       = int(C.CUDA_ERROR_INVALID_ADDRESS_SPACE)
	codeInvalidPC          = int(C.CUDA_ERROR_INVALID_PC)
	codeLaunchFailed       = int(C.CUDA_ERROR_LAUNCH_FAILED)
	codeDeinitialised      = int(C.CUDA_ERROR_DEINITIALIZED)
	codeUnavailable        = int(C.CUDA_ERROR_DEVICE_UNAVAILABLE)
	codeUnknown            = int(C.CUDA_ERROR_UNKNOWN)
)
