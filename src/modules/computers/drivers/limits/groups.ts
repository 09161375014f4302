import type { Box } from '../driver.ts'

export type Limits = Pick<Box, 'id' | 'cpu' | 'memoryMb' | 'processes'>

export interface ControlGroups {
  /** Returns the files to which the first process writes its PID. */
  make(limits: Limits): string[]
  remove(id: string): void
}

export interface GroupFiles {
  read(file: string): string
  /** Throws if the file doesn't exist. */
  write(file: string, text: string): void
  list(folder: string): string[]
  make(folder: string): void
  remove(folder: string): void
  /** From `statfs(2)`. */
  kind(folder: string): number
}

export const MOUNT = '/sys/fs/cgroup'
export const PERIOD_US = 100_000

export function removeGroup(files: GroupFiles, folder: string): void {
  try {
    files.remove(folder)
  } catch {
    // Never created, or still has a process.
  }
}
