// Loaded on first use, because most processes never need it.
const argon2 = () => import('@node-rs/argon2')

// OWASP's first recommendation for argon2id: 19 MiB, two passes, one lane.
const options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/**
 * Keyboards and browsers encode the same characters differently, such as `é` as one or two code points. NIST SP 800-63B
 * (5.1.1.2) therefore requires normalization before hashing.
 */
const normalize = (password: string): string => password.normalize('NFKC')

export const hashPassword = async (password: string): Promise<string> =>
  (await argon2()).hash(normalize(password), options)

/** In order. Older hashes were made without normalization. */
const formsOf = (password: string): string[] => [
  ...new Set([normalize(password), password, password.normalize('NFC'), password.normalize('NFD')]),
]

let decoy: Promise<string> | undefined

/** Takes equally long for a missing account, so the timing reveals nothing. */
export async function passwordMatches(storedHash: string | null, password: string): Promise<boolean> {
  decoy ??= hashPassword('nobody has this password')
  const { verify } = await argon2()
  const hash = storedHash ?? (await decoy)
  let matches = false
  for (const form of formsOf(password)) {
    matches = await verify(hash, form)
    if (matches) break
  }
  return storedHash !== null && matches
}
