import { linkSync, readFileSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'

/**
 * Takes `file` for this process until it ends; false while another one that lives has it. It names its holder by pid and
 * start, so that a pid given to another program later is not taken for it.
 */
export function takeLock(file: string): Disposable | null {
  const mine = `${process.pid} ${startOf(process.pid)}`
  const fresh = `${file}.${process.pid}`
  writeFileSync(fresh, mine, { mode: 0o600 })
  try {
    for (;;) {
      try {
        // Fails where there is one: two that come at once are told apart.
        linkSync(fresh, file)
        break
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
      }
      const holder = read(file)
      if (holder !== null && lives(holder)) return null
      const dead = `${fresh}.dead`
      try {
        renameSync(file, dead)
      } catch {
        continue
      }
      // Somebody was faster: what was taken away is theirs, and alive.
      if (read(dead) !== holder) {
        try {
          linkSync(dead, file)
        } catch {
          // And somebody else took the place meanwhile.
        }
      }
      unlinkSync(dead)
    }
  } finally {
    unlinkSync(fresh)
  }
  return {
    [Symbol.dispose]() {
      if (read(file) === mine) unlinkSync(file)
    },
  }
}

export function isHeld(file: string): boolean {
  const holder = read(file)
  return holder !== null && lives(holder)
}

/** The pid of who holds it, to be told to people. */
export const holderOf = (file: string): string => read(file)?.split(' ')[0] ?? '?'

/** In clock ticks since boot; empty where the system does not say. */
function startOf(pid: number): string {
  const stat = read(`/proc/${pid}/stat`)
  // Behind the name, which may hold anything: the twentieth field.
  return stat?.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? ''
}

function lives(holder: string): boolean {
  const [pid, start] = holder.split(' ')
  if (!pid || !/^\d+$/.test(pid)) return false
  if (start) return startOf(Number(pid)) === start
  try {
    return process.kill(Number(pid), 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

function read(file: string): string | null {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return null
  }
}
