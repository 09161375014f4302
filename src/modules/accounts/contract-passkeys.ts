import { z } from 'zod'
import { session, signIn } from '#core/access.ts'
import { area, base, deleted, endpoint, idOut, one, page, time } from '#core/contract.ts'
import { Account } from './contract.ts'

export const Passkey = z
  .object({
    ...base,
    name: z.string(),
    rp_id: z.string().describe('The host name the passkey was created for. It works only there.'),
    synced: z.boolean().describe('Whether a password manager stores the passkey and can sync it to other devices.'),
    last_used_at: time.nullable(),
  })
  .meta({ id: 'Passkey' })

/** base64url, as in the browser's `toJSON()`. */
const bytes = (most: number) =>
  z
    .string()
    .max(most)
    .regex(/^[\w-]+={0,2}$/, 'must be base64url')

const credential = {
  id: bytes(1_400),
  rawId: bytes(1_400),
  type: z.literal('public-key'),
  clientExtensionResults: z.record(z.string(), z.unknown()).default({}),
  authenticatorAttachment: z.string().max(32).nullish(),
}

export const registrationResponse = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(16_384),
      attestationObject: bytes(65_536),
      transports: z.array(z.string().max(32)).max(10).optional(),
    }),
  })
  .describe('`PublicKeyCredential.toJSON()` of the result of `navigator.credentials.create`.')
  .meta({
    examples: [
      {
        id: 'AQ',
        rawId: 'AQ',
        type: 'public-key',
        response: { clientDataJSON: 'e30', attestationObject: 'oA' },
      },
    ],
  })

export const authenticationResponse = z
  .object({
    ...credential,
    response: z.object({
      clientDataJSON: bytes(16_384),
      authenticatorData: bytes(16_384),
      signature: bytes(16_384),
      userHandle: bytes(128).nullish(),
    }),
  })
  .describe('`PublicKeyCredential.toJSON()` of the result of `navigator.credentials.get`.')
  .meta({
    examples: [
      {
        id: 'AQ',
        rawId: 'AQ',
        type: 'public-key',
        response: { clientDataJSON: 'e30', authenticatorData: 'AQ', signature: 'AQ' },
      },
    ],
  })

export type RegistrationResponse = z.output<typeof registrationResponse>
export type AuthenticationResponse = z.output<typeof authenticationResponse>

const options = one(
  z.object({
    id: idOut,
    created_at: time,
    expires_at: time,
    options: z
      .record(z.string(), z.unknown())
      .describe('Options for `PublicKeyCredential.parseCreationOptionsFromJSON` or `…parseRequestOptionsFromJSON`.'),
  }),
)
const name = z.string().trim().min(1).max(120)

export const passkeys = area(
  'passkeys',
  { title: 'Passkeys', summary: 'Sign in with a fingerprint, face, PIN or security key (WebAuthn).' },
  {
    list: endpoint('GET /app/passkeys', {
      summary: 'List your passkeys',
      access: session(),
      reply: page(Passkey),
      beyond: true,
    }),
    creation_options: endpoint('POST /app/passkeys/creation-options', {
      summary: 'Start adding a passkey',
      description:
        'Requires identity confirmation with a password or passkey within the last 10 minutes. The challenge can be used once and expires after 5 minutes.',
      access: session(),
      reply: options,
      errors: ['proof_required', 'limit_reached', 'not_supported'],
      beyond: true,
    }),
    create: endpoint('POST /app/passkeys', {
      summary: 'Add a passkey',
      access: session(),
      consent: 'person',
      body: { name, credential: registrationResponse },
      reply: one(Passkey),
      status: 201,
      errors: ['proof_required', 'limit_reached', 'already_exists', 'link_expired', 'not_supported'],
      beyond: true,
    }),
    update: endpoint('PATCH /app/passkeys/:id', {
      summary: 'Rename a passkey',
      access: session(),
      body: { name },
      reply: one(Passkey),
      beyond: true,
    }),
    delete: endpoint('DELETE /app/passkeys/:id', {
      summary: 'Remove a passkey, unless it’s your last way to sign in',
      access: session(),
      consent: 'person',
      reply: deleted,
      errors: ['proof_required', 'invalid_state'],
      beyond: true,
    }),
    sign_in_options: endpoint('POST /app/passkeys/sign-in-options', {
      summary: 'Start signing in with a passkey',
      description:
        'Doesn’t need an account: the browser offers the user’s passkeys. The challenge can be used once and expires after 10 minutes.',
      access: signIn(),
      reply: options,
      errors: ['rate_limited', 'not_supported'],
      beyond: true,
    }),
    sign_in: endpoint('POST /app/passkeys/sign-in', {
      summary: 'Sign in with a passkey',
      access: signIn(),
      body: { credential: authenticationResponse },
      reply: one(Account),
      errors: ['invalid_credentials', 'link_expired', 'rate_limited', 'not_supported'],
      beyond: true,
    }),
    proof_options: endpoint('POST /app/passkeys/proof-options', {
      summary: 'Start confirming your identity with a passkey',
      access: session(),
      reply: options,
      errors: ['not_supported'],
      beyond: true,
    }),
  },
)
