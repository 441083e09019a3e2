// What is fixed of a launch when package rowid makes a kernel for it.
#pragma once

// Numbers of the launch: fields of gj_aggregate and, in it, of gj_program and gj_groups.
#define GJ_FIXED_FILTER 0
#define GJ_FIXED_LENGTH 1
#define GJ_FIXED_BEGIN 2
#define GJ_FIXED_MODE 3
#define GJ_FIXED_NO_KEYS 4
#define GJ_FIXED_SLOTS 5
#define GJ_FIXED_KEY_WORDS 6

// A column: its width in bytes, and bits for what it has.
#define GJ_COLUMN_WIDTH 0xff
#define GJ_COLUMN_POSITIONS 0x100
#define GJ_COLUMN_VALIDITY 0x200
