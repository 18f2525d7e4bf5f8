// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026 the HTTPCacheEngine authors

// Nothing to call: the constructor in DescriptorCheck.c runs in each process of tests.
