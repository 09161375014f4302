import { isAlive, livingProcesses } from './proc.ts'

/**
 * Signals the programs of a terminal: all of the shell's session but those that left it on purpose, as closing a window
 * does. SIGKILL goes to the shell alone: the system hangs up on the others then.
 */
export function signalSession(pid: number, started: string, signal: NodeJS.Signals): void {
  if (process.platform !== 'linux') return kill(-pid, signal)
  if (!isAlive(pid, started)) return
  if (signal === 'SIGKILL') return kill(pid, signal)
  for (const one of livingProcesses()) if (one.session === pid) kill(one.pid, signal)
}

function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended.
  }
}
