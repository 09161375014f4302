/**
 * The part of WASI (snapshot preview 1, https://github.com/WebAssembly/WASI/blob/main/legacy/preview1/docs.md) needed
 * by a program that reads arguments and writes one file: no access to files, clock, or network. Other calls are
 * refused.
 */
export interface Ran {
  code: number
  file: Buffer
  said: string
}

export interface WasmModule {
  readonly compiled: unique symbol
}
interface WasmInstance {
  exports: { memory: { buffer: ArrayBuffer }; _start(): void }
}
type WasmImports = Record<string, Record<string, (...args: never[]) => number>>
/** The part of the WebAssembly API used here; the server's types don't include browser APIs. */
declare const WebAssembly: {
  compile(bytes: Uint8Array): Promise<WasmModule>
  instantiate(module: WasmModule, imports: WasmImports): Promise<WasmInstance>
  Module: { imports(module: WasmModule): { module: string; name: string }[] }
}

export const compileWasm = (bytes: Uint8Array): Promise<WasmModule> => WebAssembly.compile(bytes)

const [OK, BADF, NOSYS, NOENT] = [0, 8, 52, 44]
const FOLDER = 3
const FILE = 4
const MAX_BYTES = 256 << 20

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super('exit')
    this.code = code
  }
}

export async function runWasi(module: WasmModule, args: readonly string[]): Promise<Ran> {
  const memory = new ProgramMemory()
  const file = new WrittenFile()
  const output = { text: '' }
  const calls: Calls = {
    ...argumentCalls(memory, args),
    ...folderCalls(memory, file),
    ...fileCalls(memory, file, output),
    clock_time_get(_clock: number, _precision: bigint, out: number) {
      memory.view.setBigUint64(out, 0n, true)
      return OK
    },
    proc_exit(code: number) {
      throw new Exit(code)
    },
  }
  const imports: WasmImports = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = calls[name] ?? (() => NOSYS)
  const { exports } = await WebAssembly.instantiate(module, imports)
  memory.attach(exports.memory)
  let code = 0
  try {
    exports._start()
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    ;({ code } = error)
  }
  return { code, file: file.content, said: output.text }
}

type Calls = Record<string, (...args: never[]) => number>

/** Views of the program's memory, which moves when it grows. */
class ProgramMemory {
  #memory: WasmInstance['exports']['memory'] | null = null

  attach(memory: WasmInstance['exports']['memory']): void {
    this.#memory = memory
  }

  get view(): DataView {
    return new DataView(this.#memory!.buffer)
  }

  bytes(start: number, length: number): Buffer {
    return Buffer.from(this.#memory!.buffer, start, length)
  }
}

/** The only file of the program, in memory. */
class WrittenFile {
  #bytes = Buffer.alloc(1 << 20)
  #size = 0
  at = 0

  get size(): number {
    return this.#size
  }

  get content(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }

  clear(): void {
    this.#size = this.at = 0
  }

  /** Returns the number of bytes written: 0 if the file would be too large. */
  append(part: Buffer): number {
    const end = this.at + part.length
    if (end > MAX_BYTES) return 0
    if (end > this.#bytes.length) {
      const larger = Buffer.alloc(Math.max(this.#bytes.length * 2, end))
      this.#bytes.copy(larger)
      this.#bytes = larger
    }
    part.copy(this.#bytes, this.at)
    this.at = end
    this.#size = Math.max(this.#size, end)
    return part.length
  }
}

function argumentCalls(memory: ProgramMemory, args: readonly string[]): Calls {
  const words = args.map((arg) => Buffer.from(`${arg}\0`))
  return {
    args_sizes_get(count: number, length: number) {
      memory.view.setUint32(count, words.length, true)
      memory.view.setUint32(
        length,
        words.reduce((sum, word) => sum + word.length, 0),
        true,
      )
      return OK
    },
    args_get(pointers: number, start: number) {
      for (const [i, word] of words.entries()) {
        memory.view.setUint32(pointers + i * 4, start, true)
        word.copy(memory.bytes(start, word.length))
        start += word.length
      }
      return OK
    },
    environ_sizes_get(count: number, length: number) {
      memory.view.setUint32(count, 0, true)
      memory.view.setUint32(length, 0, true)
      return OK
    },
    environ_get: () => OK,
  }
}

const folderCalls = (memory: ProgramMemory, file: WrittenFile): Calls => ({
  fd_prestat_get(fd: number, out: number) {
    if (fd !== FOLDER) return BADF
    memory.view.setUint32(out, 0, true)
    memory.view.setUint32(out + 4, 1, true)
    return OK
  },
  fd_prestat_dir_name(fd: number, start: number, length: number) {
    if (fd !== FOLDER || length < 1) return BADF
    memory.bytes(start, 1).write('/')
    return OK
  },
  path_open(
    _folder: number,
    _look: number,
    _path: number,
    _length: number,
    open: number,
    _rights: bigint,
    _inherited: bigint,
    _flags: number,
    out: number,
  ) {
    // Only creation is allowed: nothing can be read.
    if ((open & 1) === 0) return NOENT
    file.clear()
    memory.view.setUint32(out, FILE, true)
    return OK
  },
})

const fileCalls = (memory: ProgramMemory, file: WrittenFile, output: { text: string }): Calls => ({
  fd_fdstat_get(fd: number, out: number) {
    if (fd > FILE) return BADF
    memory.bytes(out, 24).fill(0)
    // Filetype: character device, directory, regular file.
    memory.view.setUint8(out, fd === FILE ? 4 : fd === FOLDER ? 3 : 2)
    memory.view.setBigUint64(out + 8, 0xffff_ffffn, true)
    memory.view.setBigUint64(out + 16, 0xffff_ffffn, true)
    return OK
  },
  fd_fdstat_set_flags: () => OK,
  fd_write(fd: number, parts: number, count: number, out: number) {
    const { view } = memory
    let bytesWritten = 0
    for (let i = 0; i < count; i++) {
      const part = memory.bytes(view.getUint32(parts + i * 8, true), view.getUint32(parts + i * 8 + 4, true))
      if (fd === FILE) bytesWritten += file.append(part)
      else {
        output.text = (output.text + part.toString('latin1')).slice(-1_000)
        bytesWritten += part.length
      }
    }
    view.setUint32(out, bytesWritten, true)
    return OK
  },
  fd_read(_fd: number, _parts: number, _count: number, out: number) {
    memory.view.setUint32(out, 0, true)
    return OK
  },
  fd_seek(fd: number, offset: bigint, whence: number, out: number) {
    if (fd !== FILE) return BADF
    file.at = Math.max(0, Number(offset) + [0, file.at, file.size][whence]!)
    memory.view.setBigUint64(out, BigInt(file.at), true)
    return OK
  },
  fd_tell(fd: number, out: number) {
    if (fd !== FILE) return BADF
    memory.view.setBigUint64(out, BigInt(file.at), true)
    return OK
  },
  fd_close: () => OK,
})
