// A real OpenID Connect issuer on this machine, for the tests.
//
// The issuer gives tokens to two clients for their secrets. Two more clients get tokens for people: the first shows a code,
// which a test approves in the person's place; the second sends the person's browser here, to a page with a button. A test
// controls the issuer by requests below /test/: it rotates keys, refuses, is down or busy, and counts requests. Everything
// else is the provider's own.

import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import Provider from 'oidc-provider';

const AUDIENCE = 'fleet';
const RESOURCE = 'urn:fleet';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';
const SCOPES = 'access:read access:write access:verify product:read admin';

const server = createServer((request, response) => answer(request, response));
server.listen(0, '127.0.0.1');
await once(server, 'listening');
const issuer = `http://127.0.0.1:${server.address().port}`;

let keys = [];
let provider;
let isDown = false;
let accessTokenTTL = 600;
let deviceCodeTTL = 600;
let nBusy = 0;
const asked = { keys: 0, document: 0, tokens: 0, refusals: 0 };
rotate('ES256', false);
console.log(`issuer ${issuer}`);

// The issuer ends with its test: the test's end of this pipe closes then.
process.stdin.resume();
process.stdin.on('end', () => process.exit(0));

/** Signs with a new key from now on; the older keys stay in the set only if `keepsOlder`. */
function rotate(algorithm, keepsOlder) {
  const kinds = {
    ES256: () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
    ES384: () => generateKeyPairSync('ec', { namedCurve: 'P-384' }),
    RS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    PS256: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
    EdDSA: () => generateKeyPairSync('ed25519'),
  };
  const { privateKey } = kinds[algorithm]();
  const key = { ...privateKey.export({ format: 'jwk' }), kid: randomUUID(), alg: algorithm, use: 'sig' };
  keys = keepsOlder ? [key, ...keys] : [key];
  provider = new Provider(issuer, {
    jwks: { keys },
    clients: [
      {
        client_id: 'robot',
        client_secret: 'secret-of-the-robot',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: algorithm,
      },
      {
        client_id: 'robot-by-form',
        client_secret: 'secret-of-the-other-robot',
        token_endpoint_auth_method: 'client_secret_post',
        grant_types: ['client_credentials'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: algorithm,
      },
      {
        client_id: 'gatehouse',
        token_endpoint_auth_method: 'none',
        application_type: 'native',
        grant_types: [DEVICE_GRANT, 'refresh_token'],
        redirect_uris: [],
        response_types: [],
        id_token_signed_response_alg: algorithm,
      },
      {
        client_id: 'gatehouse-console',
        token_endpoint_auth_method: 'none',
        // A native client may redirect to any port of the loopback address.
        application_type: 'native',
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['http://127.0.0.1/-/console/'],
        post_logout_redirect_uris: ['http://127.0.0.1/-/console/'],
        response_types: ['code'],
        id_token_signed_response_alg: algorithm,
      },
    ],
    // The console fetches its tokens from another origin.
    clientBasedCORS: () => true,
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    scopes: ['openid', 'offline_access', ...SCOPES.split(' ')],
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    ttl: {
      DeviceCode: () => deviceCodeTTL,
      RefreshToken: 3600,
      Grant: 3600,
      AccessToken: () => accessTokenTTL,
      IdToken: 600,
    },
    extraTokenClaims: () => ({ fleet: { tenants: ['acme'] } }),
    features: {
      devInteractions: { enabled: false },
      clientCredentials: { enabled: true },
      deviceFlow: { enabled: true },
      revocation: { enabled: true },
      rpInitiatedLogout: { enabled: true, logoutSource: (ctx, form) => askToLeave(ctx, form) },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => RESOURCE,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: SCOPES,
          audience: AUDIENCE,
          accessTokenFormat: 'jwt',
          accessTokenTTL,
          jwt: { sign: { alg: algorithm } },
        }),
      },
    },
    enabledJWA: { idTokenSigningAlgValues: [algorithm] },
  });
  // Clients poll every second instead of every five, for the sake of the tests.
  provider.use(async (ctx, next) => {
    // Some issuers accept a client's secret in one way only: here, this client's only in the form.
    const [, basic] = /^Basic (.*)$/.exec(ctx.get('authorization')) ?? [];
    if (basic && Buffer.from(basic, 'base64').toString().startsWith('robot-by-form:')) {
      Object.assign(ctx, { status: 401, body: { error: 'invalid_client' } });
      return;
    }
    await next();
    if (ctx.path === '/device/auth' && ctx.status === 200) ctx.body.interval = 1;
    if (ctx.path === '/token') asked[ctx.status === 200 ? 'tokens' : 'refusals'] += 1;
  });
}

/** Approves a user code in the browser's place: Ann signs in and grants every scope that the client asks for. */
async function approve(userCode) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replace(/\W/g, ''));
  const grantId = await grantAll(code.clientId, code.params.scope);
  const authTime = Math.floor(Date.now() / 1000);
  const { scope } = code.params;
  Object.assign(code, { accountId: 'ann', grantId, scope, resource: RESOURCE, authTime });
  await code.save();
}

/** Grants a client every scope that it asks for, in Ann's name. */
async function grantAll(clientId, scope) {
  const grant = new provider.Grant({ accountId: 'ann', clientId });
  grant.addOIDCScope(scope);
  grant.addResourceScope(RESOURCE, scope);
  return grant.save();
}

/** Denies a user code in the browser's place. */
async function deny(userCode) {
  const code = await provider.DeviceCode.findByUserCode(userCode.replace(/\W/g, ''));
  Object.assign(code, { error: 'access_denied', errorDescription: 'the person refused' });
  await code.save();
}

/** Shows the page to sign in, or answers the button that the person pressed. */
async function interact(request, response, choice) {
  const { uid, params } = await provider.interactionDetails(request, response);
  if (choice === 'sign-in') {
    const grantId = await grantAll(params.client_id, params.scope);
    return provider.interactionFinished(request, response, { login: { accountId: 'ann' }, consent: { grantId } });
  }
  if (choice === 'refuse') {
    const refusal = { error: 'access_denied', error_description: 'the person refused' };
    return provider.interactionFinished(request, response, refusal);
  }
  response.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' });
  response.end(`<!doctype html>
<html lang="en">
<title>Sign in</title>
<link rel="icon" href="data:,">
<h1>Sign in to ${params.client_id}</h1>
<form method="post" action="/interaction/${uid}/sign-in"><button>Sign in as ann</button></form>
<form method="post" action="/interaction/${uid}/refuse"><button>Refuse</button></form>
</html>`);
}

/** Shows the page that asks whether to sign out. */
function askToLeave(ctx, form) {
  ctx.body = `<!doctype html>
<html lang="en">
<title>Sign out</title>
<link rel="icon" href="data:,">
<h1>Sign out?</h1>
${form}
<button form="op.logoutForm" name="logout" value="yes">Sign out</button>
</html>`;
}

function answer(request, response) {
  const url = new URL(request.url, issuer);
  const say = (status, body) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body));
  };
  switch (url.pathname) {
    case '/test/rotate':
      rotate(url.searchParams.get('algorithm') ?? 'ES256', url.searchParams.has('keep'));
      return say(200, {});
    case '/test/down':
      isDown = url.searchParams.get('is') === 'true';
      return say(200, {});
    case '/test/approve':
    case '/test/deny': {
      const settle = url.pathname === '/test/deny' ? deny : approve;
      return settle(url.searchParams.get('user_code')).then(
        () => say(200, {}),
        (why) => say(500, { error: String(why) }),
      );
    }
    case '/test/busy':
      nBusy = Number(url.searchParams.get('answers'));
      return say(200, {});
    case '/test/lifetimes':
      accessTokenTTL = Number(url.searchParams.get('token') ?? accessTokenTTL);
      deviceCodeTTL = Number(url.searchParams.get('code') ?? deviceCodeTTL);
      return say(200, {});
    case '/test/asked':
      return say(200, asked);
    case '/.well-known/openid-configuration':
      asked.document += 1;
      break;
    case '/jwks':
      asked.keys += 1;
      break;
  }
  if (nBusy > 0 && url.pathname === '/token') {
    nBusy -= 1;
    response.setHeader('retry-after', '0');
    return say(503, { error: 'temporarily_unavailable' });
  }
  if (isDown && url.pathname !== '/token') return say(503, { error: 'down' });
  const interaction = /^\/interaction\/[\w-]+(?:\/(sign-in|refuse))?$/.exec(url.pathname);
  if (interaction) {
    return interact(request, response, interaction[1]).catch((why) => say(400, { error: String(why) }));
  }
  return provider.callback()(request, response);
}
