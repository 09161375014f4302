// Loaded with the first password: most processes never see one.
const argon2 = () => import('@node-rs/argon2')

// OWASP's first choice for argon2id: 19 MiB, two passes, one lane.
const options = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

export const hashPassword = async (password: string): Promise<string> => (await argon2()).hash(password, options)

let decoy: Promise<string> | undefined

/** Takes as long for an account that does not exist, so that timing tells nothing. */
export async function passwordMatches(stored: string | null, password: string): Promise<boolean> {
  decoy ??= hashPassword('nobody has this password')
  const { verify } = await argon2()
  const matches = await verify(stored ?? (await decoy), password)
  return stored !== null && matches
}
