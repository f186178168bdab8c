// Memory for constants that passes compute comes in huge pages, where the kernel has them: a
// network's weights are tens of megabytes, and faults on small pages took two fifths of the time.
// jemalloc reads this name at its start (its manual, "Tuning"); other allocators do not.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "thp:always";
}
