import assert from 'node:assert/strict'
import { test } from 'node:test'
import { assemble } from './bpf.ts'
import { type Arch, seccompFilter } from './seccomp.ts'

interface Call {
  number: number
  arch?: number
  args?: readonly number[]
}
const ARCHES = { x64: 0xc000003e, arm64: 0xc00000b7 }

/** Interprets the BPF instructions that filters use. */
function answerOf(filter: Buffer, { number, arch = 0, args = [] }: Call): string {
  const data = Buffer.alloc(64)
  data.writeUInt32LE(number, 0)
  data.writeUInt32LE(arch, 4)
  for (const [index, value] of args.entries()) data.writeBigUInt64LE(BigInt(value), 16 + 8 * index)
  let accumulator = 0
  for (let at = 0; at < filter.length / 8; at++) {
    const code = filter.readUInt16LE(at * 8)
    const [yes, no] = [filter.readUInt8(at * 8 + 2), filter.readUInt8(at * 8 + 3)]
    const value = filter.readUInt32LE(at * 8 + 4)
    if (code === 0x20) accumulator = data.readUInt32LE(value)
    else if (code === 0x15) at += accumulator === value ? yes : no
    else if (code === 0x35) at += accumulator >= value ? yes : no
    else if (code === 0x45) at += (accumulator & value) !== 0 ? yes : no
    else if (code === 0x06)
      return value === 0x7fff0000 ? 'allow' : value === 0x80000000 ? 'kill' : `errno ${value & 0xffff}`
    else throw new Error(`${code} is not the code of an instruction that the filter uses`)
  }
  throw new Error('it has no end')
}

/** Most numbers differ between the two architectures. */
const NUMBERS = {
  x64: {
    read: 0,
    openat: 257,
    ptrace: 101,
    keyctl: 250,
    bpf: 321,
    mount: 165,
    unshare: 272,
    io_uring_setup: 425,
    clone: 56,
    clone3: 435,
    ioctl: 16,
    socket: 41,
    personality: 135,
  },
  arm64: {
    read: 63,
    openat: 56,
    ptrace: 117,
    keyctl: 219,
    bpf: 280,
    mount: 40,
    unshare: 97,
    io_uring_setup: 425,
    clone: 220,
    clone3: 435,
    ioctl: 29,
    socket: 198,
    personality: 92,
  },
} as const

for (const arch of ['x64', 'arm64'] as Arch[])
  test(`sandboxes on ${arch} are refused unneeded system calls`, () => {
    const filter = seccompFilter(arch)
    const verdictOf = (name: keyof (typeof NUMBERS)['x64'], ...args: number[]) =>
      answerOf(filter, { number: NUMBERS[arch][name], arch: ARCHES[arch], args })
    for (const name of ['read', 'openat', 'ptrace'] as const) assert.equal(verdictOf(name), 'allow', name)
    for (const name of ['keyctl', 'bpf', 'mount', 'unshare', 'io_uring_setup'] as const)
      assert.equal(verdictOf(name), 'errno 1', name)
    assert.equal(verdictOf('clone', 0x3d0f00), 'allow', 'a thread')
    assert.equal(verdictOf('clone', 0x10000000), 'errno 1', 'a namespace of users')
    assert.equal(verdictOf('clone', 0x20000000 | 17), 'errno 1', 'a namespace of processes')
    assert.equal(verdictOf('clone3'), 'errno 38')
    assert.equal(verdictOf('ioctl', 0, 0x5412), 'errno 1', 'typing into a terminal')
    // The kernel only reads the low half.
    assert.equal(verdictOf('ioctl', 0, 0x1_0000_5412), 'errno 1')
    assert.equal(verdictOf('ioctl', 0, 0x5413), 'allow')
    assert.deepEqual(
      [1, 2, 10, 16].map((family) => verdictOf('socket', family)),
      Array(4).fill('allow'),
    )
    assert.deepEqual(
      [38, 40].map((family) => verdictOf('socket', family)),
      Array(2).fill('errno 97'),
    )
    assert.equal(verdictOf('personality', 0xffffffff), 'allow')
    assert.equal(verdictOf('personality', 0x40000), 'errno 1')
    assert.equal(answerOf(filter, { number: 0, arch: 0x40000003 }), 'kill', 'as 32 bits')
    if (arch === 'x64') assert.equal(answerOf(filter, { number: 0x40000000, arch: ARCHES.x64 }), 'errno 1', 'as x32')
  })

test('invalid jumps in a filter are rejected', () => {
  assert.throws(() => assemble([{ op: 'equal', value: 1, to: 'nowhere' }]), /no line is called nowhere/)
  const far = Array.from({ length: 300 }, () => ({ op: 'load', offset: 0 }) as const)
  assert.throws(
    () => assemble([{ op: 'equal', value: 1, to: 'end' }, ...far, { op: 'label', name: 'end' }]),
    /300 lines away/,
  )
})
