import { mkdir } from 'node:fs/promises'
import { refuse } from '#core/errors.ts'
import type { EngineName, EngineRow, Progress } from './engine.ts'
import { EngineProcess } from './process.ts'

export interface Packages {
  name: EngineName
  label: string
  version: string
  /** The folder below `folder` with `node_modules`, or null if not installed. */
  installed(folder: string): Promise<string | null>
  install(folder: string, signal: AbortSignal): Promise<string>
}

export interface PackagedOptions {
  folder: string
  program: readonly string[]
  /** The process's arguments after the engine's name: the socket to listen on and the location of the packages. */
  words(socket: string, place: string): readonly string[]
}

export class PackagedEngine {
  readonly process: EngineProcess
  readonly #packages: Packages
  readonly #folder: string
  #installing = false

  constructor(packages: Packages, { folder, program, words }: PackagedOptions) {
    this.#packages = packages
    this.#folder = folder
    this.process = new EngineProcess({
      label: packages.label,
      program,
      words: async (socket) => [packages.name, ...words(socket, await this.place())],
    })
  }

  async row(): Promise<EngineRow> {
    const { name, version, installed } = this.#packages
    const existing = await installed(this.#folder)
    const status = this.#installing ? 'installing' : (this.process.status ?? (existing ? 'stopped' : 'absent'))
    return { name, status, version: existing ? version : null, reason: this.process.reason }
  }

  async start(progress: Progress, signal: AbortSignal): Promise<void> {
    this.#installing = true
    try {
      progress('downloading', 0, 0)
      await mkdir(this.#folder, { recursive: true, mode: 0o700 })
      await this.#packages.install(this.#folder, signal)
    } finally {
      this.#installing = false
    }
    progress('loading', 0, 0)
    await this.process.start()
  }

  /** Throws `engine_not_ready` if not installed. */
  async place(): Promise<string> {
    const { label, installed } = this.#packages
    return (
      (await installed(this.#folder)) ??
      refuse('engine_not_ready', { message: `${label} isn’t installed on the computer. Start it first to install it.` })
    )
  }
}
