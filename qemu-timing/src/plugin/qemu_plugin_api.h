// The part of QEMU's TCG plugin interface, versions 1 to 5 (QEMU 6.0 to 10.2), that the plugin
// uses. Debian does not package the header; names and types are those of QEMU's documentation
// (docs/devel/tcg-plugins).
#pragma once

#include <cstddef>
#include <cstdint>

extern "C" {

using qemu_plugin_id_t = uint64_t;
using qemu_plugin_meminfo_t = uint32_t;

struct qemu_info_t {
    const char *target_name;
    struct {
        int min, cur;
    } version;
    bool system_emulation;
    union {
        struct {
            int smp_vcpus, max_vcpus;
        } system;
    };
};

struct qemu_plugin_tb;
struct qemu_plugin_insn;

enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_mem_rw { QEMU_PLUGIN_MEM_R = 1, QEMU_PLUGIN_MEM_W, QEMU_PLUGIN_MEM_RW };

using qemu_plugin_vcpu_udata_cb_t = void (*)(unsigned vcpu, void *data);
using qemu_plugin_vcpu_mem_cb_t = void (*)(unsigned vcpu, qemu_plugin_meminfo_t info,
                                           uint64_t address, void *data);
using qemu_plugin_vcpu_syscall_cb_t = void (*)(qemu_plugin_id_t id, unsigned vcpu, int64_t number,
                                               uint64_t a1, uint64_t a2, uint64_t a3, uint64_t a4,
                                               uint64_t a5, uint64_t a6, uint64_t a7, uint64_t a8);

void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t, qemu_plugin_tb *));
void qemu_plugin_register_vcpu_tb_exec_cb(qemu_plugin_tb *tb, qemu_plugin_vcpu_udata_cb_t cb,
                                          qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_udata_cb_t cb,
                                            qemu_plugin_cb_flags flags, void *data);
void qemu_plugin_register_vcpu_mem_cb(qemu_plugin_insn *insn, qemu_plugin_vcpu_mem_cb_t cb,
                                      qemu_plugin_cb_flags flags, qemu_plugin_mem_rw rw,
                                      void *data);
void qemu_plugin_register_vcpu_syscall_cb(qemu_plugin_id_t id, qemu_plugin_vcpu_syscall_cb_t cb);

size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const qemu_plugin_tb *tb);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *tb, size_t index);
void qemu_plugin_insn_data(); // its type depends on the version: InsnReader (api_version.h)
size_t qemu_plugin_insn_size(const qemu_plugin_insn *insn);
uint64_t qemu_plugin_insn_vaddr(const qemu_plugin_insn *insn);
void *qemu_plugin_insn_haddr(const qemu_plugin_insn *insn);
const char *qemu_plugin_insn_symbol(const qemu_plugin_insn *insn);
unsigned qemu_plugin_mem_size_shift(qemu_plugin_meminfo_t info);
bool qemu_plugin_mem_is_store(qemu_plugin_meminfo_t info);

} // extern "C"
