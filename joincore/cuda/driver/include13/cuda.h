/*
 * gorgonia.org/cu v0.9.6 was written for CUDA 12 and earlier. CUDA 13 renamed
 * eight functions to versions with more parameters; the driver still exports
 * the old ones. With this directory before the toolkit's in the include path,
 * the old names mean the old functions again. With CUDA 12 it changes nothing.
 */
#ifndef GPUJOIN_CUDA13_H
#define GPUJOIN_CUDA13_H
#include_next <cuda.h>

#if CUDA_VERSION >= 13000

#undef cuCtxCreate
#define cuCtxCreate cuCtxCreate_v2
CUresult CUDAAPI cuCtxCreate_v2(CUcontext *context, unsigned int flags, CUdevice device);

#undef cuMemAdvise
CUresult CUDAAPI cuMemAdvise(CUdeviceptr at, size_t bytes, CUmem_advise advice, CUdevice device);

#undef cuMemPrefetchAsync
CUresult CUDAAPI cuMemPrefetchAsync(CUdeviceptr at, size_t bytes, CUdevice device, CUstream stream);

#undef cuGraphAddDependencies
CUresult CUDAAPI cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);

#undef cuGraphRemoveDependencies
CUresult CUDAAPI cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t count);

#undef cuGraphGetEdges
CUresult CUDAAPI cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to, size_t *count);

#undef cuGraphNodeGetDependencies
CUresult CUDAAPI cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *dependencies, size_t *count);

#undef cuGraphNodeGetDependentNodes
CUresult CUDAAPI cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *dependents, size_t *count);

#endif
#endif
