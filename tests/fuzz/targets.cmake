add_library(np_fuzz_common STATIC fuzz.c tree.c)
target_link_libraries(np_fuzz_common PRIVATE np_build numaprobe_objects)

np_fuzz(cpulist np_fuzz_common numaprobe_objects)
np_fuzz(spec np_fuzz_common numaprobe_objects)
np_fuzz(sysfs np_fuzz_common numaprobe_objects)
np_fuzz(set np_fuzz_common numarun_objects)
np_fuzz(xml np_fuzz_common numaprobe_objects)
