import { isIP } from 'node:net'
import type { WebAuthnCredential } from '@simplewebauthn/server'
import type { Context } from '#infra/context.ts'
import { refuse } from '#core/errors.ts'
import type { Id } from '#core/ids.ts'
import {
  type Challenge,
  type Purpose,
  type RedeemedChallenge,
  makeChallenge,
  takeChallenge,
} from '../sign-in/challenges.ts'
import type { RegistrationResponse, AuthenticationResponse } from '../contract-passkeys.ts'
import type { AccountRow } from '../store.ts'
import { type PasskeyRow, passkeyStore } from './passkey-store.ts'

// Loaded on first use, because most processes never need it.
const webauthn = () => import('@simplewebauthn/server')

/** WebAuthn, 5.1.2 and 13.4.9. */
interface Party {
  origin: string
  id: string
}

/** Uses the browser's `Origin`, which the pipeline has already matched against our own. */
function partyOf({ caller: { origin } }: Context): Party {
  if (origin === null)
    return refuse('not_supported', {
      message:
        'Passkeys can be used only from a browser page of this instance, and this request has no matching `Origin`.',
    })
  const { hostname } = new URL(origin)
  if (isIP(hostname.replace(/^\[(.*)\]$/, '$1')) !== 0)
    refuse('not_supported', {
      message: `Passkeys require a host name, and ${hostname} is an IP address. Open this instance by its name, such as http://localhost.`,
    })
  return { origin, id: hostname }
}

export interface Options extends Challenge {
  options: Record<string, unknown>
}

const CREATION_SECONDS = 300
const SIGN_IN_SECONDS = 600

/** For `navigator.credentials.create`: a discoverable passkey with user verification. */
export async function creationOptions(
  ctx: Context,
  account: AccountRow,
  present: readonly PasskeyRow[],
): Promise<Options> {
  const party = partyOf(ctx)
  const { generateRegistrationOptions } = await webauthn()
  const challenge = await makeChallenge(ctx, 'passkey.register', { accountId: account.id, seconds: CREATION_SECONDS })
  const options = await generateRegistrationOptions({
    rpName: 'Ukiyo',
    rpID: party.id,
    userName: account.email,
    userDisplayName: account.name,
    userID: new Uint8Array(Buffer.from(account.id)),
    challenge: bytesOf(challenge),
    timeout: CREATION_SECONDS * 1000,
    attestationType: 'none',
    excludeCredentials: present
      .filter(({ rp_id }) => rp_id === party.id)
      .map(({ credential_id: id, transports }) => ({ id, transports })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  return { ...challenge, options: { ...options } }
}

export async function verifyRegistration(
  ctx: Context,
  response: RegistrationResponse,
): Promise<Pick<PasskeyRow, 'credential_id' | 'public_key' | 'counter' | 'transports' | 'rp_id' | 'synced'>> {
  const party = partyOf(ctx)
  const { challenge } = await redeemChallenge(ctx, 'passkey.register', response.response.clientDataJSON)
  const { verifyRegistrationResponse } = await webauthn()
  const verification = await verifyRegistrationResponse({
    response: {
      ...response,
      response: { ...response.response, transports: response.response.transports ?? [] },
      authenticatorAttachment: response.authenticatorAttachment,
    } as Parameters<typeof verifyRegistrationResponse>[0]['response'],
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
  }).catch((error: unknown) => refusePasskey(ctx, error))
  if (!verification.verified) return refusePasskey(ctx, new Error('the attestation does not hold'))
  const { credential, credentialDeviceType } = verification.registrationInfo
  return {
    credential_id: credential.id,
    public_key: Buffer.from(credential.publicKey),
    counter: BigInt(credential.counter),
    transports: credential.transports ?? [],
    rp_id: party.id,
    synced: credentialDeviceType === 'multiDevice',
  }
}

/** For `navigator.credentials.get`. Without `allowed`, the browser offers all passkeys of this host. */
export async function requestOptions(
  ctx: Context,
  purpose: Extract<Purpose, 'passkey.sign_in' | 'passkey.prove'>,
  { accountId, allowed = [] }: { accountId: Id | null; allowed?: readonly PasskeyRow[] },
): Promise<Options> {
  const party = partyOf(ctx)
  const { generateAuthenticationOptions } = await webauthn()
  const challenge = await makeChallenge(ctx, purpose, { accountId, seconds: SIGN_IN_SECONDS })
  const options = await generateAuthenticationOptions({
    rpID: party.id,
    challenge: bytesOf(challenge),
    timeout: SIGN_IN_SECONDS * 1000,
    userVerification: 'required',
    allowCredentials: allowed
      .filter(({ rp_id }) => rp_id === party.id)
      .map(({ credential_id: id, transports }) => ({ id, transports })),
  })
  return { ...challenge, options: { ...options } }
}

/** Verifies the challenge (used once), origin, host name, user verification, signature and an increased counter. */
export async function verifyAuthentication(
  ctx: Context,
  purpose: Extract<Purpose, 'passkey.sign_in' | 'passkey.prove'>,
  response: AuthenticationResponse,
): Promise<PasskeyRow> {
  const party = partyOf(ctx)
  const { challenge, accountId } = await redeemChallenge(ctx, purpose, response.response.clientDataJSON)
  const passkey = await passkeyStore.byCredential(ctx.db, response.id)
  if (!passkey || passkey.rp_id !== party.id) return refusePasskey(ctx, new Error('the passkey is not known'))
  if (accountId !== null && passkey.account_id !== accountId)
    return refusePasskey(ctx, new Error('the passkey is of another account'))
  const { userHandle } = response.response
  // The user handle must be the passkey's account (WebAuthn, 7.2, step 6).
  if (userHandle && Buffer.from(userHandle, 'base64url').toString() !== passkey.account_id)
    return refusePasskey(ctx, new Error('the passkey names another account'))
  const { verifyAuthenticationResponse } = await webauthn()
  const credential: WebAuthnCredential = {
    id: passkey.credential_id,
    publicKey: new Uint8Array(passkey.public_key),
    counter: Number(passkey.counter),
  }
  const verification = await verifyAuthenticationResponse({
    response: response as Parameters<typeof verifyAuthenticationResponse>[0]['response'],
    expectedChallenge: challenge,
    expectedOrigin: party.origin,
    expectedRPID: party.id,
    requireUserVerification: true,
    credential,
  }).catch((error: unknown) => refusePasskey(ctx, error))
  if (!verification.verified) return refusePasskey(ctx, new Error('the signature does not match'))
  if (!(await passkeyStore.recordUse(ctx.db, passkey.id, BigInt(verification.authenticationInfo.newCounter))))
    return refusePasskey(ctx, new Error('the counter has not gone on'))
  return passkey
}

/** Redeems the challenge in the signed data, even if verification then fails. */
async function redeemChallenge(
  ctx: Context,
  purpose: Purpose,
  clientDataJSON: string,
): Promise<RedeemedChallenge & { challenge: string }> {
  const challenge = challengeIn(clientDataJSON)
  const entry = challenge === null ? null : await takeChallenge(ctx, purpose, challenge)
  if (entry === null || challenge === null)
    return refuse('link_expired', { message: 'This passkey request has expired or was already used. Start again.' })
  if (entry.accountId !== null && entry.accountId !== ctx.principal.accountId)
    return refuse('link_expired', { message: 'This was started for another account. Start again.' })
  return { ...entry, challenge }
}

function challengeIn(clientDataJSON: string): string | null {
  try {
    const { challenge } = JSON.parse(Buffer.from(clientDataJSON, 'base64url').toString()) as { challenge?: unknown }
    return typeof challenge === 'string' ? challenge : null
  } catch {
    return null
  }
}

/** Only the log has the reason. */
function refusePasskey(ctx: Context, error: unknown): never {
  ctx.log.info({ reason: error instanceof Error ? error.message : String(error) }, 'a passkey was refused')
  return refuse('invalid_credentials', { message: 'The passkey was not accepted.' })
}

const bytesOf = ({ token }: Challenge): Uint8Array<ArrayBuffer> => new Uint8Array(Buffer.from(token, 'base64url'))
