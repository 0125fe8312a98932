// A real OpenID Connect provider on a free port of this machine: prints the port, and runs until it is killed. Its sign-in form
// takes the name of an account and any password.
const http = require("node:http");
const { pathToFileURL } = require("node:url");

const accounts = {
  ada: { email: "ada@example.org", email_verified: true, groups: ["staff", "admins"] },
  bob: { email: "bob@example.com", email_verified: true, groups: ["staff"] },
  eve: { email: "eve@example.org", email_verified: false },
};
// Wherever the program under test listens.
const ours = /^http:\/\/127\.0\.0\.1:\d+(\/kv)?\/api\/portal\/sso\/callback$/;

async function main() {
  // It is a module of the newer kind, which is not found by NODE_PATH alone.
  const { Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
  const server = http.createServer();
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address();
  const provider = new Provider(`http://127.0.0.1:${port}`, {
    clients: [{
      client_id: "stoa",
      client_secret: "a secret of the client, with = & : % signs",
      redirect_uris: ["http://127.0.0.1/api/portal/sso/callback"],
    }],
    claims: { openid: ["sub"], email: ["email", "email_verified"], groups: ["groups"] },
    scopes: ["openid", "email", "groups"],
    pkce: { required: () => true },
    findAccount: (_, id) => accounts[id] && { accountId: id, claims: () => ({ sub: id, ...accounts[id] }) },
    // Everybody agrees.
    loadExistingGrant: async (ctx) => {
      const grant = new ctx.oidc.provider.Grant({
        clientId: ctx.oidc.client.clientId,
        accountId: ctx.oidc.session.accountId,
      });
      grant.addOIDCScope("openid email groups");
      await grant.save();
      return grant;
    },
  });
  provider.Client.prototype.redirectUriAllowed = (uri) => ours.test(uri);
  server.on("request", provider.callback());
  console.log(port);
}

main();
