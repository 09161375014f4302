/** The daemon as a service of its user: begun at log-in, begun again when it ends. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { DaemonFault } from '../state.ts'

/** What a service runs. */
export interface ServiceParts {
  server: string
  /** The program and its words; the keeper's with the folder that it keeps. */
  daemon: readonly string[]
  keeper: readonly string[]
  /** Beside what the system gives its services. */
  environment: Readonly<Record<string, string>>
}

export interface ServiceManager {
  name: 'systemd' | 'launchd'
  /** Throws `DaemonFault` where the system's own program does not answer. */
  check(): Promise<void>
  /** `computer`: what the service is named after, where there is none yet. Answers what people should know. */
  install(computer: string, parts: ServiceParts): Promise<string[]>
  /** False: there was none. */
  uninstall(): Promise<boolean>
  /** `state` in the system's own word, such as `active`; null: it is not installed. */
  status(): Promise<{ name: string; state: string } | null>
}

export interface Told {
  ok: boolean
  said: string
}

/** Runs a program of the system's. */
export async function tell(program: string, ...args: string[]): Promise<Told> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: 30_000 })
    return { ok: true, said: stdout.trim() }
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string }
    return { ok: false, said: stdout.trim() || stderr.trim().split('\n')[0] || message }
  }
}

/** The same, where nothing else would do. */
export async function must(program: string, ...args: string[]): Promise<void> {
  const { ok, said } = await tell(program, ...args)
  if (!ok) throw new DaemonFault('failure', `\`${[program, ...args].join(' ')}\` failed: ${said}`, WITHOUT)
}

export const WITHOUT = 'To run the daemon without a service: `uk computer run --detach`.'
