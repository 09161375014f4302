import { createRootRoute, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router'
import { queryClient } from '../shared/api.ts'
import { sessionQuery } from '../shared/session.ts'
import { canonicalPath, canonicalSearch } from '../shell/canonical.ts'
import { BrokenAlone } from '../shell/states/broken.tsx'
import { MissingAlone } from '../shell/states/missing.tsx'

export const root = createRootRoute({
  // On every page: resources are identified by their canonical ID.
  beforeLoad({ location: { pathname, search, hash } }) {
    const canonical = { to: canonicalPath(pathname), search: canonicalSearch(search) }
    if (canonical.to !== pathname || canonical.search !== search) throw redirect({ ...canonical, hash, replace: true })
  },
  errorComponent: BrokenAlone,
  notFoundComponent: MissingAlone,
})

interface Entering {
  next?: string
}
const entering = ({ next }: Record<string, unknown>): Entering => ({
  ...(typeof next === 'string' && /^\/(?![/\\])/.test(next) && { next }),
})
const entry = createRoute({
  getParentRoute: () => root,
  id: 'entry',
  beforeLoad: async ({ search }) => {
    const session = await queryClient.ensureQueryData(sessionQuery)
    if (session) throw redirect({ to: entering(search).next ?? '/', replace: true })
  },
  component: lazyRouteComponent(() => import('../entry/entry.tsx'), 'Entry'),
})
const signIn = createRoute({
  getParentRoute: () => entry,
  path: '/sign-in',
  validateSearch: entering,
  component: lazyRouteComponent(() => import('../entry/sign-in.tsx'), 'SignIn'),
})
const signUp = createRoute({
  getParentRoute: () => entry,
  path: '/sign-up',
  validateSearch: entering,
  component: lazyRouteComponent(() => import('../entry/sign-up.tsx'), 'SignUp'),
})

const door = createRoute({
  getParentRoute: () => root,
  id: 'door',
  component: lazyRouteComponent(() => import('../entry/entry.tsx'), 'Entry'),
})
const invitation = createRoute({
  getParentRoute: () => door,
  path: '/invitation',
  validateSearch: ({ join }: Record<string, unknown>): { join?: true } => (join === true ? { join } : {}),
  component: lazyRouteComponent(() => import('../invitations/invitation.tsx'), 'InvitationPage'),
})
const signedIn = createRoute({
  getParentRoute: () => door,
  path: '/signed-in',
  component: lazyRouteComponent(() => import('../entry/signed-in.tsx'), 'SignedIn'),
})
const recovery = createRoute({
  getParentRoute: () => door,
  path: '/recovery',
  component: lazyRouteComponent(() => import('../entry/recovery.tsx'), 'Recovery'),
})

export const entryRoutes = entry.addChildren([signIn, signUp])
export const doorRoutes = door.addChildren([invitation, signedIn, recovery])
