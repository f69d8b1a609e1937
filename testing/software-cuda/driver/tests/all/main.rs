//! Tests of the functions of the C interface, called as a C program calls them.

mod cuda;

mod captures;
mod contexts;
mod copies;
mod graphs;
mod kernels;
mod streams;
