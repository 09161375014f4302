/** Control groups of either version. */
import type { Box } from '../driver.ts'

export type Limits = Pick<Box, 'id' | 'cpu' | 'memoryMb' | 'processes'>

export interface ControlGroups {
  /** Creates a computer's groups. Returns the files to which its first process writes its PID. */
  make(limits: Limits): string[]
  remove(id: string): void
}

/** File operations on the kernel's interface. They throw as Node's do. */
export interface GroupFiles {
  read(file: string): string
  /** Doesn't create the file. */
  write(file: string, text: string): void
  list(folder: string): string[]
  make(folder: string): void
  remove(folder: string): void
  /** The file system type from `statfs(2)`. */
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
