/** Runs the daemon as a service of its user, started at log-in and restarted when it exits. */
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { DaemonFault } from '../state.ts'

export interface ServiceParts {
  server: string
  /** The command line of each program. The keeper's includes its state folder. */
  daemon: readonly string[]
  keeper: readonly string[]
  environment: Readonly<Record<string, string>>
}

export interface ServiceManager {
  name: 'systemd' | 'launchd'
  /** Throws `DaemonFault` if the service manager doesn't respond. */
  check(): Promise<void>
  /** `computer`: names a new service. Returns messages to print. */
  install(computer: string, parts: ServiceParts): Promise<string[]>
  /** False if none was installed. */
  uninstall(): Promise<boolean>
  /** `state` is the system's own word, such as `active`. Null if not installed. */
  status(): Promise<{ name: string; state: string } | null>
}

export interface CommandResult {
  ok: boolean
  output: string
}

export async function runCommand(program: string, ...args: string[]): Promise<CommandResult> {
  try {
    const { stdout } = await promisify(execFile)(program, args, { timeout: 30_000 })
    return { ok: true, output: stdout.trim() }
  } catch (error) {
    const { stderr = '', stdout = '', message } = error as Error & { stderr?: string; stdout?: string }
    return { ok: false, output: stdout.trim() || stderr.trim().split('\n')[0] || message }
  }
}

export async function runOrFail(program: string, ...args: string[]): Promise<void> {
  const { ok, output } = await runCommand(program, ...args)
  if (!ok) throw new DaemonFault('failure', `\`${[program, ...args].join(' ')}\` failed: ${output}`, WITHOUT)
}

export const WITHOUT = 'To run the daemon without a service: `uk computer run --detach`.'
