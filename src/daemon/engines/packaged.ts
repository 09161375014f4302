import { mkdir } from 'node:fs/promises'
import { refuse } from '#core/errors.ts'
import type { EngineName, EngineRow, Progress } from './engine.ts'
import { EngineProcess } from './process.ts'

/** An engine that comes as packages. */
export interface Packages {
  name: EngineName
  /** The engine's name for people. */
  label: string
  version: string
  /** The folder below `folder` that holds `node_modules`, or null where it is not installed. */
  installed(folder: string): Promise<string | null>
  install(folder: string, signal: AbortSignal): Promise<string>
}

export interface PackagedOptions {
  /** The folder where the engine is installed. */
  folder: string
  /** The program that runs the engine's own process, before its arguments. */
  program: readonly string[]
  /** The words of the process behind its engine's name, given the socket to listen on and where the packages are. */
  words(socket: string, place: string): readonly string[]
}

/** An engine that is installed where it is absent, and runs in a process of its own. */
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
    const there = await installed(this.#folder)
    const status = this.#installing ? 'installing' : (this.process.status ?? (there ? 'stopped' : 'absent'))
    return { name, status, version: there ? version : null, reason: this.process.reason }
  }

  /** Installs it where it is absent. */
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

  /** Refuses with `engine_not_ready` where it is absent. */
  async place(): Promise<string> {
    const { label, installed } = this.#packages
    return (
      (await installed(this.#folder)) ??
      refuse('engine_not_ready', { message: `${label} isn’t installed on the computer. Start it first to install it.` })
    )
  }
}
