// What is a thread? Something that can say its name.
//
// A launch names no loop: `<<<3 blocks, 8 threads>>>` runs the function 24 times, and all that differs between the 24
// is who they are. Threads of a warp speak in order, since a warp is one; blocks speak when their SM lets them, in
// whatever order that is. What they print is collected on the GPU and arrives when the CPU waits for the launch.
extern "C" __global__ void hello()
{
    printf("block %u, thread %u\n", blockIdx.x, threadIdx.x);
}
