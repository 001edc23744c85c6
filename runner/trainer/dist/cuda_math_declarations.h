// What LibTorch's CUDA headers need of cuBLAS, cuSPARSE and cuSOLVER, for dist/nccl.cpp alone:
// names of handles and status codes in declarations that are never called here. With them the
// program is built from two small wheels of headers instead of a gigabyte of libraries.
#pragma once

typedef struct cublasContext* cublasHandle_t;
typedef struct cublasLtContext* cublasLtHandle_t;
typedef struct cusparseContext* cusparseHandle_t;
typedef struct cusolverDnContext* cusolverDnHandle_t;

enum cublasStatus_t : int;
enum cusparseStatus_t : int;
enum cusolverStatus_t : int;
