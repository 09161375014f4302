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
const MOST_BYTES = 256 << 20

class Exit extends Error {
  readonly code: number
  constructor(code: number) {
    super('exit')
    this.code = code
  }
}

export async function runWasi(module: WasmModule, args: readonly string[]): Promise<Ran> {
  const words = args.map((arg) => Buffer.from(`${arg}\0`))
  let [file, size, at] = [Buffer.alloc(1 << 20), 0, 0]
  let output = ''
  let memory!: WasmInstance['exports']['memory']
  const view = (): DataView => new DataView(memory.buffer)
  const bytes = (start: number, length: number): Buffer => Buffer.from(memory.buffer, start, length)

  function append(part: Buffer): number {
    if (at + part.length > MOST_BYTES) return 0
    if (at + part.length > file.length) {
      const larger = Buffer.alloc(Math.max(file.length * 2, at + part.length))
      file.copy(larger)
      file = larger
    }
    part.copy(file, at)
    at += part.length
    size = Math.max(size, at)
    return part.length
  }

  const calls: Record<string, (...args: never[]) => number> = {
    args_sizes_get(count: number, length: number) {
      view().setUint32(count, words.length, true)
      view().setUint32(
        length,
        words.reduce((sum, word) => sum + word.length, 0),
        true,
      )
      return OK
    },
    args_get(pointers: number, start: number) {
      for (const [i, word] of words.entries()) {
        view().setUint32(pointers + i * 4, start, true)
        word.copy(bytes(start, word.length))
        start += word.length
      }
      return OK
    },
    environ_sizes_get(count: number, length: number) {
      view().setUint32(count, 0, true)
      view().setUint32(length, 0, true)
      return OK
    },
    environ_get: () => OK,
    clock_time_get(_clock: number, _precision: bigint, out: number) {
      view().setBigUint64(out, 0n, true)
      return OK
    },
    fd_prestat_get(fd: number, out: number) {
      if (fd !== FOLDER) return BADF
      view().setUint32(out, 0, true)
      view().setUint32(out + 4, 1, true)
      return OK
    },
    fd_prestat_dir_name(fd: number, start: number, length: number) {
      if (fd !== FOLDER || length < 1) return BADF
      bytes(start, 1).write('/')
      return OK
    },
    fd_fdstat_get(fd: number, out: number) {
      if (fd > FILE) return BADF
      bytes(out, 24).fill(0)
      // Filetype: character device, directory, regular file.
      view().setUint8(out, fd === FILE ? 4 : fd === FOLDER ? 3 : 2)
      view().setBigUint64(out + 8, 0xffff_ffffn, true)
      view().setBigUint64(out + 16, 0xffff_ffffn, true)
      return OK
    },
    fd_fdstat_set_flags: () => OK,
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
      ;[size, at] = [0, 0]
      view().setUint32(out, FILE, true)
      return OK
    },
    fd_write(fd: number, parts: number, count: number, out: number) {
      let bytesWritten = 0
      for (let i = 0; i < count; i++) {
        const part = bytes(view().getUint32(parts + i * 8, true), view().getUint32(parts + i * 8 + 4, true))
        if (fd === FILE) bytesWritten += append(part)
        else {
          output = (output + part.toString('latin1')).slice(-1_000)
          bytesWritten += part.length
        }
      }
      view().setUint32(out, bytesWritten, true)
      return OK
    },
    fd_read(_fd: number, _parts: number, _count: number, out: number) {
      view().setUint32(out, 0, true)
      return OK
    },
    fd_seek(fd: number, offset: bigint, whence: number, out: number) {
      if (fd !== FILE) return BADF
      at = Math.max(0, Number(offset) + [0, at, size][whence]!)
      view().setBigUint64(out, BigInt(at), true)
      return OK
    },
    fd_tell(fd: number, out: number) {
      if (fd !== FILE) return BADF
      view().setBigUint64(out, BigInt(at), true)
      return OK
    },
    fd_close: () => OK,
    proc_exit(code: number) {
      throw new Exit(code)
    },
  }

  const imports: WasmImports = {}
  for (const { module: from, name } of WebAssembly.Module.imports(module))
    (imports[from] ??= {})[name] = calls[name] ?? (() => NOSYS)
  const { exports } = await WebAssembly.instantiate(module, imports)
  memory = exports.memory
  let code = 0
  try {
    exports._start()
  } catch (error) {
    if (!(error instanceof Exit)) throw error
    ;({ code } = error)
  }
  return { code, file: file.subarray(0, size), said: output }
}
