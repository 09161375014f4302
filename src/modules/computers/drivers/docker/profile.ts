/**
 * Podman's own profile allows user namespaces and mounts in every container, for Podman in Podman.
 * https://github.com/containers/common/blob/main/pkg/seccomp/seccomp.json
 */
import { createHash } from 'node:crypto'
import { chmodSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { NAMESPACES, refusedCalls } from '../inside/seccomp.ts'

const Rule = z.looseObject({
  names: z.array(z.string()),
  action: z.string(),
  args: z.array(z.unknown()).nullish(),
  includes: z.looseObject({ caps: z.array(z.string()).nullish() }).nullish(),
})
const Profile = z.looseObject({ defaultAction: z.string(), syscalls: z.array(Rule) })
export type Profile = z.infer<typeof Profile>

export function narrowProfile(profile: Profile): Profile {
  if (profile.defaultAction !== 'SCMP_ACT_ERRNO') throw new Error('it refuses nothing that it does not name')
  const refusedNames = new Set([...refusedCalls, 'clone', 'clone3'])
  const syscalls = profile.syscalls.flatMap((rule) => {
    const free = rule.action === 'SCMP_ACT_ALLOW' && !rule.includes?.caps?.length
    const names = free ? rule.names.filter((name) => !refusedNames.has(name)) : rule.names
    return names.length === 0 ? [] : [{ ...rule, names }]
  })
  const threads = { index: 0, value: NAMESPACES, valueTwo: 0, op: 'SCMP_CMP_MASKED_EQ' }
  return {
    ...profile,
    syscalls: [
      ...syscalls,
      { names: ['clone'], action: 'SCMP_ACT_ALLOW', args: [threads] },
      // ENOSYS makes the C library fall back to `clone`, whose flags can be filtered.
      { names: ['clone3'], action: 'SCMP_ACT_ERRNO', errnoRet: 38 },
    ],
  }
}

export function placeProfile(folder: string, from: string): string {
  const text = JSON.stringify(narrowProfile(Profile.parse(JSON.parse(readFileSync(from, 'utf8')))))
  const file = join(folder, `seccomp-${createHash('sha256').update(text).digest('hex').slice(0, 16)}.json`)
  if (existsSync(file)) return file
  const making = `${file}.${process.pid}`
  writeFileSync(making, text)
  chmodSync(making, 0o444)
  renameSync(making, file)
  return file
}
