import { isAlive, livingProcesses } from './proc.ts'

/**
 * Signals a terminal's programs, like closing a window: the shell's session except processes that left it on
 * purpose. SIGKILL goes to the shell only; the kernel then hangs up the others.
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
  } catch {}
}
