// Loaded with the first password: most processes never see one.
const argon2 = () => import('@node-rs/argon2')

// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Keyboards and browsers send the same characters in different code points, such as `é` in one or in two. NIST SP
 * 800-63B (5.1.1.2) therefore normalizes a password before hashing it.
 */
const normalize = (password: string): string => password.normalize('NFKC')

export const hashPassword = async (password: string): Promise<string> =>
  (await argon2()).hash(normalize(password), options)

/** The forms to try, in order: hashes made before passwords were normalized hold one of the others. */
const formsOf = (password: string): string[] => [
  ...new Set([normalize(password), password, password.normalize('NFC'), password.normalize('NFD')]),
]

let decoy: Promise<string> | undefined

/** Takes the same time for an account that doesn't exist, so the time reveals nothing. */
export async function passwordMatches(stored: string | null, password: string): Promise<boolean> {
  decoy ??= hashPassword('nobody has this password')
  const { verify } = await argon2()
  const hash = stored ?? (await decoy)
  let matches = false
  for (const form of formsOf(password)) {
    matches = await verify(hash, form)
    if (matches) break
  }
  return stored !== null && matches
}
